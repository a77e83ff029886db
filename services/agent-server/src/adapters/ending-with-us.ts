/**
 * A program of the host that the kernel kills when this process dies, however it dies: after a `kill -9` nobody is left to
 * stop it, and it would go on writing below what the next server cleans up. To be started by the main thread; a worker's
 * end counts as a death.
 * @returns program and arguments to start instead
 */
export function endingWithUs(program: string, args: readonly string[]): [string, string[]] {
  return ['setpriv', ['--pdeathsig', 'KILL', '--', program, ...args]];
}
