import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram } from '../packages.ts';

/** A skip reason where no tmux can be had. */
export const noTmux = findProgram('tmux') === undefined ? 'tmux: no pseudo-terminal on this machine' : false;

/** A real terminal in which a program runs, and a screen that can be read. */
export interface TmuxScreen {
  /** The screen as a person sees it, without colours. */
  read(): string;
  /** The same with the escape sequences of colours and weights. */
  readPainted(): string;
  /** What tmux knows of the terminal by a format of its own, such as `#{pane_title}`. */
  ask(format: string): string;
  /** Waits until the screen, or what has scrolled off it, shows it. @throws with the screen when it does not */
  shows(what: RegExp): Promise<string>;
  /** Types keys by tmux's names: `C-c`, `Enter`, `s`. */
  press(...keys: string[]): void;
  /** Makes the terminal larger or smaller, as a person pulls at its corner. */
  resize(columns: number, rows: number): void;
  end(): void;
}

const patienceMs = 60_000;
/** A screen cannot announce that it has changed: tmux is asked. */
const lookAgainMs = 50;

let terminals = 0;

/**
 * Starts a command in a terminal of its own, on a tmux server of its own in the folder: one that was told to end still answers
 * for a moment, and who meets it there is told that the server exited unexpectedly.
 */
export function startTmux(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>>,
  size = { columns: 100, rows: 40 },
): TmuxScreen {
  terminals += 1;
  const socket = join(folder, `tmux-${process.pid}-${terminals}.sock`);
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const variables = Object.entries(environment).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-s',
    'person',
    '-x',
    String(size.columns),
    '-y',
    String(size.rows),
    ...variables,
    `${command}; echo "exit code $?"; exec cat`,
  );
  const read = (...more: string[]): string =>
    tmux('capture-pane', '-p', '-J', '-S', '-2000', '-t', 'person', ...more);
  return {
    read: () => read(),
    readPainted: () => read('-e'),
    ask: (format) => tmux('display-message', '-p', '-t', 'person', format).trim(),
    shows: async (what) => {
      const deadline = performance.now() + patienceMs;
      for (;;) {
        const screen = read();
        if (what.test(screen)) return screen;
        if (performance.now() > deadline) throw new Error(`the screen never shows ${what}:\n${screen}`);
        await delay(lookAgainMs);
      }
    },
    press: (...keys) => void tmux('send-keys', '-t', 'person', ...keys),
    resize: (columns, rows) =>
      void tmux('resize-window', '-t', 'person', '-x', String(columns), '-y', String(rows)),
    end: () => {
      try {
        tmux('kill-server');
      } catch (error) {
        // A server that has ended by itself is what we want.
        if (!/no server running|server exited|error connecting/.test(String(error))) throw error;
      }
    },
  };
}
