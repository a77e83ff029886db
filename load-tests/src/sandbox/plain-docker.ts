import { execFileSync } from 'node:child_process';
import { distribution } from '../benchmark.ts';
import type { BenchIo, Distribution } from '../benchmark.ts';

/** The engine's own fault: the container is gone and the client is never told. Seen about once in a few hundred runs. */
const stuckMs = 15_000;
const maxStuck = 10;

/** What people have without us: `docker run` of one command, and `docker exec` in a container that is up. */
export function plainDocker(
  host: string,
  image: string,
  rounds: number,
  io: BenchIo,
): { readonly run: Distribution; readonly exec: Distribution } {
  const docker = (...args: string[]): string =>
    execFileSync('docker', args, {
      encoding: 'utf8',
      timeout: stuckMs,
      killSignal: 'SIGKILL',
      env: { ...process.env, DOCKER_HOST: host },
    });
  const name = `lemniscate-bench-plain-${process.pid}`;
  let stuck = 0;
  const measure = (args: (round: string) => readonly string[]): number[] => {
    const took: number[] = [];
    while (took.length < rounds) {
      io.signal.throwIfAborted();
      const round = `${name}-${took.length}-${stuck}`;
      const from = performance.now();
      try {
        docker(...args(round));
        took.push(performance.now() - from);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ETIMEDOUT' || stuck === maxStuck) throw error;
        stuck += 1;
        docker('rm', '-f', round);
        io.say(`plain docker: not back after ${stuckMs} ms, measured again`);
      }
    }
    return took;
  };
  io.say(`plain docker: ${rounds} times run and exec`);
  const run = measure((round) => ['run', '--rm', '--network=none', '--name', round, image, 'true']);
  docker('run', '-d', '--rm', '--network=none', '--name', name, image, 'sleep', '3600');
  try {
    const exec = measure(() => ['exec', name, 'bash', '-c', 'true']);
    return {
      run: distribution('plain docker run', 'ms', run),
      exec: distribution('plain docker exec', 'ms', exec),
    };
  } finally {
    docker('rm', '-f', name);
  }
}
