import type { Call } from '../refused/call.ts';
import type { Inner } from './inner.ts';

/** Interpreters of other languages, with the versions that they carry in their names. */
const languages =
  /^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|rscript|julia|osascript|emacs|tclsh|ts-node|tsx|ipython|irb)(-?\d[\d.]*)?$/;
/** Those in which a text in backticks is run. */
const withBackticks = /^(perl|ruby|php|irb)/;

/**
 * Functions by which those languages start a program, with the texts behind them: one command line, or a program and
 * its arguments. The names are the ones of the standard libraries.
 */
const starts =
  /\b(?:system|popen[234]?|Popen|exec[lv]?p?e?|execSync|execFile(?:Sync)?|spawn(?:Sync|lp?|vp?)?|shell_exec|passthru|proc_open|pcntl_exec|check_output|check_call|call|run|getoutput|getstatusoutput|create_subprocess_(?:exec|shell)|execute|Command|capture[23e]?|shell-command(?:-to-string)?|call-process|do shell script|qx|%x)[\s([{]*((?:(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')[\s,()[\]{}]{0,20})+)/g;
const texts = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'/g;
/** `qx(…)`, `%x{…}`, and backticks. */
const quoted = /(?:\bqx|%x)\s*(?:\(([^)]*)\)|\{([^}]*)\}|\[([^\]]*)\]|([/|!])(.*?)\4)/gs;
const backticks = /`([^`]*)`/g;

/** Longer words are no code of a person on a command line. */
const maxLength = 4000;

/**
 * The commands that code of another language starts, where they stand in it as texts. Only refusals count: the
 * language is not read, and code in an argument asks anyhow.
 * @param input what the interpreter reads from its standard input, where that is known
 */
export function readLanguageCode(call: Call, input: string | undefined): Inner[] {
  if (!languages.test(call.name)) return [];
  const codes = [...call.words.slice(1), ...(input === undefined ? [] : [input])];
  return codes.flatMap((code, index) =>
    code.length > maxLength
      ? []
      : commandsIn(code, withBackticks.test(call.name)).map((command): Inner => ({
          from: Math.min(index + 1, call.words.length),
          run: { code: command },
          refusalsOnly: true,
        })),
  );
}

function commandsIn(code: string, backticked: boolean): string[] {
  const started = Array.from(code.matchAll(starts), (found) =>
    Array.from((found[1] ?? '').matchAll(texts), (text) => text[1] ?? text[2] ?? '').join(' '),
  );
  if (!backticked) return started;
  const marked = Array.from(code.matchAll(quoted), (found) => found[1] ?? found[2] ?? found[3] ?? found[5]);
  const ticked = Array.from(code.matchAll(backticks), (found) => found[1]);
  return [...started, ...[...marked, ...ticked].filter((text) => text !== undefined)];
}
