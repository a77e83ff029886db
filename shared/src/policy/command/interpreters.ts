import { readShell, shells } from './wrappers/shells.ts';
import type { Call } from './refused/call.ts';

/** Programs that run whatever text they read. */
const others =
  /^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|expect|rscript|r|julia|osascript|pwsh|powershell|cmd|irb|nu|xonsh|elvish|ipython|bpython|jshell|groovy|scala|ghci|runghc|ocaml|elixir|iex\.bat|erl|clojure|racket|guile|sbcl|swift|at|batch|crontab|parallel|source|\.|ts-node|tsx)(-?\d[\d.]*)?$/;

/** Whether the program is an interpreter. */
export function isInterpreter(name: string): boolean {
  return shells.includes(name) || others.test(name);
}

/** Programs whose own language reaches a shell, and that read it from their standard input. */
const clients =
  /^(psql|sqlite3?|litecli|mysql|mariadb|mycli|pgcli|gdb|lldb|ed|red|ex|ftp|sftp|lftp|telnet|debugfs)$/;

/** Whether commands of the program's own language come from the standard input. */
export function readsOwnCommands(call: Call): boolean {
  if (clients.test(call.name)) return true;
  return (
    /^(n?vim?|vimdiff|view)$/.test(call.name) &&
    call.words.slice(1).some((word) => word === '-' || /^-[a-zA-Z]*[es]/.test(word))
  );
}

/** Whether an interpreter takes its code from the standard input: no script, no code among its arguments. */
export function readsCodeFromInput(call: Call): boolean {
  if (shells.includes(call.name)) return readShell(call).readsInput;
  if (!others.test(call.name)) return false;
  const words = call.words.slice(1);
  if (call.name === 'source' || call.name === '.')
    return words.some((word) => /^(\/dev\/stdin|\/dev\/fd\/0|-)$/.test(word));
  if (words.some((word) => word === '-' || word === '/dev/stdin')) return true;
  // python's -v only talks more
  const tells = /^(python|pypy)/.test(call.name)
    ? /^(-V|--version|-h|--help)$/
    : /^(-v|-V|--version|-h|--help)$/;
  if (words.length === 1 && tells.test(words[0] ?? '')) return false;
  return !words.some((word) => !word.startsWith('-') || /^-[a-zA-Z]*[cemprE]$/.test(word));
}
