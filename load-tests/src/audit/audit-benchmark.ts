import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import { z } from 'zod';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';
import { measureExportLag } from './export-lag.ts';
import { measureFlatness } from './verify-flat.ts';
import { measureVerify } from './verify-rate.ts';

/** Entries of the append run, and of the log whose proofs are timed. */
const appended = 40_000;
const proved = 10_000_000;
const pacedPerSecond = 2_000;
/** At least 0.6 of plain inserts and 0.5 of the bare hash rate, told the other way round. */
const mostTimesPlain = 1.67;
const mostTimesBare = 2;
/** What "flat" may be off by: noise of a shared machine, and a collector's leavings. */
const mostTimesShort = 1.25;
const mostGrowthMiB = 16;
const mostExporterGrowthMiB = 64;

const ratesSchema = z.object({ appendRate: z.number(), plainRate: z.number() });
/** Entries a second that get their index and a signed place in the tree; `signRate` without the index. */
const sealSchema = z.object({
  entries: z.int(),
  sealed: z.int(),
  sealRate: z.number(),
  signRate: z.number(),
});
const timesSchema = z.object({ times: z.array(z.number()) });

/** Append, seal, verify, prove and export, each beside what it is compared with. */
export const auditBenchmark: Benchmark = {
  name: 'audit',
  about: 'the audit log: append beside plain inserts, seal, verify beside bare hashing, proofs, export lag',
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-audit-'));
    const data = openDataFolder({ LEMNISCATE_DATA: folder }, io.projectRoot);
    const stores = await startStores(data, openPortBook(data), readLocalConfig({}), {
      durable: true,
      say: io.say,
    });
    try {
      await load(io, stores.databaseUrl, 'prepare', 0);
      io.say('appending');
      const rates = ratesSchema.parse(await load(io, stores.databaseUrl, 'append', appended));
      io.say('sealing');
      const key = join(folder, 'log-key.pem');
      const seal = sealSchema.parse(await runLoad(io, sealLoad, [stores.databaseUrl, key]));
      if (seal.sealed < appended) throw new Error(`Only ${seal.sealed} entries were sealed.`);
      io.say('verifying');
      const { bareRate, verifyRate } = measureVerify();
      const flat = measureFlatness();
      io.say('exporting');
      const { lags, memory } = await measureExportLag(io, stores.databaseUrl, folder, () =>
        load(io, stores.databaseUrl, 'paced', pacedPerSecond),
      );
      // last: the tiles that it makes are not those of the log
      io.say('proving');
      const { times } = timesSchema.parse(await load(io, stores.databaseUrl, 'proof', proved));
      const proof = distribution(`proof over ${proved} entries, checked`, 'ms', times);
      const lag = distribution(`export lag at ${pacedPerSecond} entries/s`, 'ms', lags);
      return {
        results: [
          { name: 'append, 200 sessions, durable', unit: 'entries/s', value: rates.appendRate },
          { name: 'the same rows inserted plainly', unit: 'entries/s', value: rates.plainRate },
          { name: 'seal: index, tree, tiles, signature', unit: 'entries/s', value: seal.sealRate },
          { name: 'the tree and its signatures alone', unit: 'entries/s', value: seal.signRate },
          { name: 'verify', unit: 'entries/s', value: verifyRate },
          { name: 'JSON and SHA-256 alone', unit: 'entries/s', value: bareRate },
          { name: 'verify behind a checkpoint of 10,000 entries', unit: 'ms', value: flat.shortMs },
          { name: 'verify as much behind one of 1,000,000,000', unit: 'ms', value: flat.longMs },
          proof,
          lag,
          { name: 'exporter, resident at the end', unit: 'MiB', value: memory.endMiB },
        ],
        goals: [
          goalAtMost(
            'plain inserts beside append',
            'times',
            mostTimesPlain,
            rounded(rates.plainRate / rates.appendRate),
          ),
          goalAtMost('bare hashing beside verify', 'times', mostTimesBare, rounded(bareRate / verifyRate)),
          goalAtMost(
            'long log beside short one, verified from a checkpoint',
            'times',
            mostTimesShort,
            rounded(flat.longMs / flat.shortMs),
          ),
          goalAtMost('heap that 10 times the entries add to verify', 'MiB', mostGrowthMiB, flat.grownMiB),
          goalAtMost(
            'memory that the exporter gains in the run',
            'MiB',
            mostExporterGrowthMiB,
            Math.max(0, memory.endMiB - memory.earlyMiB),
          ),
          goalAtMost('proof, p99', 'ms', 10, proof.p99),
          goalAtMost('export lag, p99', 'ms', 2_000, lag.p99),
        ],
      };
    } finally {
      await stores.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const rounded = (value: number): number => Math.round(value * 100) / 100;

const appendLoad = 'services/dispatcher/src/testing/audit-append-load.ts';
const sealLoad = 'services/audit-exporter/src/testing/seal-load.ts';

/** Runs the dispatcher's own append code in a process of its own. */
const load = (io: BenchIo, url: string, mode: string, count: number): Promise<unknown> =>
  runLoad(io, appendLoad, [url, mode, String(count)]);

/** A program that writes one JSON object. */
async function runLoad(io: BenchIo, program: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, [join(io.projectRoot, program), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: AbortSignal.any([io.signal, AbortSignal.timeout(900_000)]),
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`The load "${[program, ...args.slice(1)].join(' ')}" ended with ${code}.`);
  return JSON.parse(text) as unknown;
}
