/**
 * Measures a driver: boot to the first answer, ping, a warm run of `true`, destroy; medians and 95th percentiles
 * in milliseconds as one JSON object.
 *   node measure.ts DRIVER STATE_FOLDER [ROUNDS] [IMAGE] [RUNTIME]
 */
import type { SandboxDriverName, SandboxProfile } from '../../../application/ports/sandbox-driver.ts';
import { sandboxDrivers } from '../registry.ts';

const [name = 'bubblewrap', stateFolder = '/var/lib/lemniscate', rounds = '50', image, runtime] =
  process.argv.slice(2);
const driver = sandboxDrivers[name as SandboxDriverName]({
  stateFolder,
  serverId: 'srv_measure',
  ...(image === undefined ? {} : { image }),
});
const profile: SandboxProfile = {
  name: 'measure',
  memoryBytes: 512 * 1024 ** 2,
  processes: 128,
  cpus: 2,
  tmpBytes: 64 * 1024 ** 2,
  shmBytes: 16 * 1024 ** 2,
  cpuSeconds: 3600,
  diskBytes: 2 * 1024 ** 3,
  diskFiles: 100_000,
  ...(image === undefined ? {} : { image }),
  ...(runtime === undefined ? {} : { ociRuntime: runtime as 'runc' }),
};

const samples = { boot: [] as number[], ping: [] as number[], run: [] as number[], destroy: [] as number[] };

async function timed(into: number[], what: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await what();
  into.push(performance.now() - startedAt);
}

function summary(values: readonly number[]): { median: number; p95: number } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 100) / 100;
  return { median: at(0.5), p95: at(0.95) };
}

await driver.probe(); // prepares the state folder
for (let round = 0; round < Number(rounds); round += 1) {
  let sandbox = undefined as Awaited<ReturnType<typeof driver.boot>> | undefined;
  await timed(samples.boot, async () => {
    sandbox = await driver.boot(`sbx_measure_${round}`, profile);
  });
  const booted = sandbox;
  if (booted === undefined) throw new Error('no sandbox');
  const command = { argv: ['true'], timeoutMs: 10_000, maxOutputBytes: 1 };
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await booted.run(command).end;
  await timed(samples.ping, () => booted.ping(5_000));
  await timed(samples.run, () => booted.run(command).end);
  await timed(samples.destroy, () => booted.destroy());
}
const result = Object.fromEntries(Object.entries(samples).map(([key, values]) => [key, summary(values)]));
process.stdout.write(
  `${JSON.stringify({ driver: name, runtime: runtime ?? null, rounds: Number(rounds), ...result })}\n`,
);
