import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { BenchIo } from '../benchmark.ts';

/** Milliseconds from an entry's time to its line in the sink's file, for every entry that `load` makes. */
export async function measureExportLag(
  io: BenchIo,
  databaseUrl: string,
  folder: string,
  load: () => Promise<unknown>,
): Promise<number[]> {
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
      await setTimeout(20);
    }
    await loaded;
    await handle.close();
    return lags;
  } finally {
    exporter.kill('SIGTERM');
    await exited;
  }
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
