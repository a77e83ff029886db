import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseLogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { createLogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import { createSealVerifier } from '@lemniscate/shared/audit/verify-seal.ts';
import { closed, createLogDatabase, executed, opened } from './database.ts';
import type { LogDatabase } from './database.ts';
import { startExporterProcess } from './exporter-process.ts';
import type { ExporterProcess } from './exporter-process.ts';
import { readSinkFile } from './read-sink-file.ts';

/** What a walk over a sink's file found. */
interface VerifiedFile {
  readonly fault: string | null;
  readonly covered: number;
  readonly entries: number;
  readonly restores: number;
}

/** A log with a key, and exporters that seal it into a file. */
export interface SealingSite {
  readonly database: LogDatabase;
  readonly folder: string;
  readonly file: string;
  readonly keyFile: string;
  /** Another exporter, a checkpoint a second; the variables are beside those of the site. */
  start(more?: Readonly<Record<string, string>>): ExporterProcess;
  end(exporter: ExporterProcess, signal: NodeJS.Signals): Promise<unknown>;
  /** Notes of the checkpoints that a sink's file has. */
  notesIn(path?: string): Promise<string[]>;
  /** Verifies what the sink has with the public key alone. */
  verifyFile(path?: string, anchors?: readonly string[]): Promise<VerifiedFile>;
  appendSession(id: string, calls: number): Promise<void>;
  remove(): Promise<void>;
}

export async function createSealingSite(): Promise<SealingSite> {
  const database = await createLogDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'sealing-'));
  const [file, keyFile] = [join(folder, 'audit.ndjson'), join(folder, 'log-key.pem')];
  const running = new Set<ExporterProcess>();
  const notesIn = async (path = file): Promise<string[]> => {
    const text = await readFile(`${path}.checkpoints`, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => checkpointLineSchema.parse(JSON.parse(line)).note);
  };
  return {
    database,
    folder,
    file,
    keyFile,
    start: (more = {}) => {
      const exporter = startExporterProcess({
        DATABASE_URL: database.url,
        LEMNISCATE_SINK_FILE: file,
        LEMNISCATE_LOG_KEY: keyFile,
        LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
        ...more,
      });
      running.add(exporter);
      return exporter;
    },
    end: (exporter, signal) => {
      running.delete(exporter);
      return exporter.end(signal);
    },
    notesIn,
    verifyFile: async (path = file, anchors = []) => {
      const key = parseLogKey(await readFile(`${keyFile}.pub`, 'utf8')) ?? assert.fail('no key');
      const entries = createLogVerifier();
      const seals = createSealVerifier({ key, notes: await notesIn(path), anchors });
      for (const line of await readSinkFile(path)) {
        assert.equal(entries.push(line), null);
        seals.push(line);
      }
      const fault = seals.finish();
      return {
        fault: fault?.fault ?? null,
        covered: seals.covered(),
        entries: entries.entries(),
        restores: seals.restores().length,
      };
    },
    appendSession: async (id, calls) => {
      const drafts = Array.from({ length: calls }, (_, call) => executed(call));
      await database.append(sessionChain(id), [opened, ...drafts, closed]);
    },
    remove: async () => {
      await Promise.all([...running].map((exporter) => exporter.end('SIGKILL')));
      await rm(folder, { recursive: true });
      await database.drop();
    },
  };
}
