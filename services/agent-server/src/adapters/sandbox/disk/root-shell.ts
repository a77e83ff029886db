import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';

/** Runs mount commands of the host, one after the other. */
export interface RootShell {
  /** @throws Error with what the command said, when it fails or does not end in time */
  run(command: string): Promise<void>;
}

/** A mount takes milliseconds; under load seconds were seen. Past this the kernel hangs on a device. */
const commandDeadlineMs = 30_000;
const maxAnswerBytes = 64 * 1024;
/** Ends each answer, with the exit code; no program's message holds it. */
const answerEnd = /\u0001(\d+)\n$/;

/** A word as the shell takes it literally, whatever is in it. */
export function quoted(...words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

/**
 * One resident `sh` for the mounts of all sandboxes. Laying a working copy is a mount on the way to a session's first
 * command, and a `spawn` out of this large process blocks its event loop for up to 10 ms under load; the shell's own
 * fork does not. It ends with this process, whose end of its standard input closes, and does not keep it alive.
 */
export function createRootShell(): RootShell {
  let shell: ChildProcessWithoutNullStreams | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const start = (): ChildProcessWithoutNullStreams => {
    const started = spawn('/bin/sh', [], {
      cwd: '/',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true, // a Ctrl-C at the terminal is for the server, which still has to unmount
    });
    started.stderr.resume();
    for (const part of [started, started.stdin, started.stdout, started.stderr])
      part.on('error', () => {
        if (shell === started) shell = null; // the next command starts another
      });
    started.on('exit', () => {
      if (shell === started) shell = null;
    });
    keepAlive(started, false);
    return started;
  };

  const execute = async (command: string): Promise<void> => {
    shell ??= start();
    const using = shell;
    keepAlive(using, true);
    try {
      const { code, text } = await ask(using, command);
      if (code !== 0) throw new Error(text.trim() || `exit code ${code}: ${command}`);
    } finally {
      keepAlive(using, false);
    }
  };

  return {
    run(command) {
      const mine = last.then(() => execute(command));
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

function keepAlive(shell: ChildProcessWithoutNullStreams, busy: boolean): void {
  const parts = [shell, shell.stdin as Socket, shell.stdout as Socket, shell.stderr as Socket];
  for (const part of parts)
    if (busy) part.ref();
    else part.unref();
}

function ask(
  shell: ChildProcessWithoutNullStreams,
  command: string,
): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      shell.stdout.off('data', read);
      shell.off('exit', gone);
      act();
    };
    const fail = (why: string): void => settle(() => reject(new Error(`${why}: ${command}`)));
    const gone = (): void => fail('the shell for mounts ended');
    const timer = setTimeout(() => {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
      fail(`not done within ${commandDeadlineMs} ms`);
    }, commandDeadlineMs);
    const read = (chunk: Buffer): void => {
      text = (text + chunk.toString('utf8')).slice(-maxAnswerBytes);
      const end = answerEnd.exec(text);
      if (end !== null) settle(() => resolve({ code: Number(end[1]), text: text.slice(0, end.index) }));
    };
    shell.stdout.on('data', read);
    shell.on('exit', gone);
    shell.stdin.write(`( ${command} ) </dev/null 2>&1; printf '\\001%d\\n' $?\n`);
  });
}
