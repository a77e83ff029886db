import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import { z } from 'zod';

// `npm run soak -- export [--entries N] [--kill-every SECONDS] [--seed N]`: the audit log goes to every kind of receiver,
// each with every fault that it can have, while the exporter is ended by kill -9 each minute. Ends with 1 when a receiver
// misses an entry, has one under two ids, or has a chain out of order. One JSON object on stdout.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    entries: { type: 'string', default: '200000' },
    'kill-every': { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});

const reportSchema = z.looseObject({
  entries: z.int(),
  kills: z.int(),
  fileLines: z.int(),
  receivers: z.array(
    z.looseObject({ kind: z.string(), missing: z.int(), foreign: z.int(), outOfOrder: z.int() }),
  ),
});

if (positionals.length !== 1 || positionals[0] !== 'export') {
  console.error('Usage: npm run soak -- export [--entries N] [--kill-every SECONDS] [--seed N]');
  process.exitCode = 2;
} else process.exitCode = (await soakExporter()) ? 0 : 1;

/** @returns whether everything arrived */
async function soakExporter(): Promise<boolean> {
  const projectRoot = join(import.meta.dirname, '../../..');
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-soak-'));
  const data = openDataFolder({ LEMNISCATE_DATA: folder }, projectRoot);
  const say = (line: string): void => console.error(line);
  const stores = await startStores(data, openPortBook(data), readLocalConfig({}), { durable: true, say });
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  try {
    // in a process of its own: the receivers share it, and the exporter is its child
    const program = join(projectRoot, 'services/audit-exporter/src/testing/export-soak-main.ts');
    const child = spawn(process.execPath, [program, values.entries, values['kill-every'], values.seed], {
      env: { ...process.env, LEMNISCATE_TEST_DATABASE_URL: stores.databaseUrl },
      stdio: ['ignore', 'pipe', 'inherit'],
      signal: stopping.signal,
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) return false;
    const report = reportSchema.parse(JSON.parse(text));
    console.log(JSON.stringify(report));
    return (
      report.fileLines === report.entries &&
      report.kills > 0 &&
      report.receivers.every(({ missing, foreign, outOfOrder }) => missing + foreign + outOfOrder === 0)
    );
  } finally {
    await stores.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
