import { execFileSync } from 'node:child_process';
import { distribution } from '../benchmark.ts';
import type { BenchIo, Distribution } from '../benchmark.ts';

/** What people have without us: `docker run` of one command, and `docker exec` in a container that is up. */
export function plainDocker(
  host: string,
  image: string,
  rounds: number,
  io: BenchIo,
): { readonly run: Distribution; readonly exec: Distribution } {
  const docker = (...args: string[]): string =>
    execFileSync('docker', args, { encoding: 'utf8', env: { ...process.env, DOCKER_HOST: host } });
  const measure = (args: readonly string[]): number[] =>
    Array.from({ length: rounds }, () => {
      io.signal.throwIfAborted();
      const from = performance.now();
      docker(...args);
      return performance.now() - from;
    });
  io.say(`plain docker: ${rounds} times run and exec`);
  const run = measure(['run', '--rm', '--network=none', image, 'true']);
  const name = `lemniscate-bench-plain-${process.pid}`;
  docker('run', '-d', '--rm', '--network=none', '--name', name, image, 'sleep', '3600');
  try {
    const exec = measure(['exec', name, 'bash', '-c', 'true']);
    return {
      run: distribution('plain docker run', 'ms', run),
      exec: distribution('plain docker exec', 'ms', exec),
    };
  } finally {
    docker('rm', '-f', name);
  }
}
