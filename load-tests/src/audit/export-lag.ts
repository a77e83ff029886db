import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { BenchIo } from '../benchmark.ts';

/** What an export under load shows. */
export interface ExportFigures {
  /** Milliseconds from an entry's time to its line in the sink's file, for every entry of the load. */
  readonly lags: number[];
  /** The exporter's resident memory when the load began to arrive, and at the end. */
  readonly memory: { readonly earlyMiB: number; readonly endMiB: number };
}

/** Runs an exporter with a file sink beside `load`. */
export async function measureExportLag(
  io: BenchIo,
  databaseUrl: string,
  folder: string,
  load: () => Promise<unknown>,
): Promise<ExportFigures> {
  const file = join(folder, 'bench.ndjson');
  const exporter = spawn(process.execPath, [join(io.projectRoot, 'services/audit-exporter/src/main.ts')], {
    env: {
      ...io.environment,
      DATABASE_URL: databaseUrl,
      LEMNISCATE_SINK_FILE: file,
      LEMNISCATE_LOG_KEY: join(folder, 'log-key.pem'),
      LEMNISCATE_EXIT_WITH_PARENT: 'true',
    },
    stdio: ['pipe', 'ignore', 'ignore'],
    signal: AbortSignal.any([io.signal, AbortSignal.timeout(120_000)]),
  });
  const exited = once(exporter, 'exit');
  try {
    const handle = await openWhenThere(file);
    const lags: number[] = [];
    // what earlier runs left behind is shipped first and is not counted
    const from = Date.now() + 2_000;
    const loading = { done: false };
    const loaded = setTimeout(2_000)
      .then(load)
      .finally(() => {
        loading.done = true;
      });
    let rest = '';
    let earlyMiB = 0;
    for (let idle = 0; !loading.done || idle < 20;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(1 << 20), 0, 1 << 20, null);
      idle = bytesRead === 0 ? idle + 1 : 0;
      const now = Date.now();
      const lines = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const at = Date.parse(/"at":"([^"]+)"/.exec(line)?.[1] ?? '');
        if (at >= from) lags.push(Math.max(0, now - at));
      }
      if (earlyMiB === 0 && lags.length > 2_000) earlyMiB = residentMiB(exporter.pid);
      await setTimeout(20);
    }
    await loaded;
    await handle.close();
    return { lags, memory: { earlyMiB, endMiB: residentMiB(exporter.pid) } };
  } finally {
    exporter.kill('SIGTERM');
    await exited;
  }
}

/** Resident memory of a process on Linux; 0 elsewhere. */
function residentMiB(pid: number | undefined): number {
  if (pid === undefined || process.platform !== 'linux') return 0;
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

async function openWhenThere(file: string) {
  const deadline = performance.now() + 20_000;
  for (;;) {
    try {
      return await open(file, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || performance.now() > deadline) throw error;
    }
    await setTimeout(20);
  }
}
