import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { projectRoot } from '../project-root.ts';

/** What `npm start` said and how it ended. */
export interface Started {
  /** Variables with which a second terminal finds this fleet. */
  readonly environment: NodeJS.ProcessEnv;
  /** All of standard output, when it is over. */
  readonly stdout: Promise<string>;
  readonly stderr: Promise<string>;
  /** Whether a line of standard output has it, before the deadline. @throws Error that has all that was said */
  says(pattern: RegExp, withinMs: number): Promise<void>;
  readonly exitCode: Promise<number | null>;
  /** Ctrl-C, which reaches everything in front of a terminal. */
  interrupt(): void;
}

/** Runs `npm start` as a person does in a shell, with a data folder below `scratch` and no model's key. */
export function npmStart(
  scratch: string,
  options: readonly string[] = [],
  extra: Readonly<Record<string, string>> = {},
): Started {
  const {
    ANTHROPIC_API_KEY: _key,
    OPENAI_API_KEY: _other,
    NODE_TEST_CONTEXT: _context,
    ...inherited
  } = process.env;
  const environment = { ...inherited, ...extra, LEMNISCATE_DATA: join(scratch, 'data') };
  const child = spawn('npm', ['start', ...(options.length === 0 ? [] : ['--', ...options])], {
    cwd: projectRoot,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const exitCode = once(child, 'exit').then(([code]) => code as number | null);
  return {
    environment,
    stdout: text(child.stdout),
    stderr: text(child.stderr),
    exitCode,
    async says(pattern, withinMs) {
      const deadline = AbortSignal.timeout(withinMs);
      while (!pattern.test(said)) {
        const ended = await Promise.race([
          once(child.stdout, 'data', { signal: deadline }).then(
            () => null,
            () => `not within ${withinMs} ms`,
          ),
          exitCode.then((code) => `it ended with ${code}`),
        ]);
        if (ended !== null && !pattern.test(said)) throw new Error(`${String(pattern)}: ${ended}\n${said}`);
      }
    },
    interrupt() {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    },
  };
}
