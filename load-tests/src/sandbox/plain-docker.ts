import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { distribution } from '../benchmark.ts';
import type { BenchIo, Distribution } from '../benchmark.ts';

const execute = promisify(execFile);
/** A hundred times what a run takes. */
const deadlineMs = 60_000;

/**
 * What people have without us: `docker run` of one command, and `docker exec` in a container that is up. Not by a call that
 * waits in place: the engine is this process's child, and one whose log nobody reads stands still when the pipe is full,
 * which was after its eighteenth container.
 */
export async function plainDocker(
  host: string,
  image: string,
  rounds: number,
  io: BenchIo,
): Promise<{ readonly run: Distribution; readonly exec: Distribution }> {
  const docker = async (...args: string[]): Promise<void> => {
    const env = { ...process.env, DOCKER_HOST: host };
    await execute('docker', args, { timeout: deadlineMs, killSignal: 'SIGKILL', signal: io.signal, env });
  };
  const name = `lemniscate-bench-plain-${process.pid}`;
  const measure = async (args: (round: number) => readonly string[]): Promise<number[]> => {
    const took: number[] = [];
    while (took.length < rounds) {
      const from = performance.now();
      await docker(...args(took.length));
      took.push(performance.now() - from);
    }
    return took;
  };
  io.say(`plain docker: ${rounds} times run and exec`);
  const run = await measure((round) => [
    'run',
    '--rm',
    '--network=none',
    '--name',
    `${name}-${round}`,
    image,
    'true',
  ]);
  await docker('run', '-d', '--rm', '--network=none', '--name', name, image, 'sleep', '3600');
  try {
    const exec = await measure(() => ['exec', name, 'bash', '-c', 'true']);
    return {
      run: distribution('plain docker run', 'ms', run),
      exec: distribution('plain docker exec', 'ms', exec),
    };
  } finally {
    await docker('rm', '-f', name);
  }
}
