import { doubtAt } from './doubt.ts';
import type { Doubts } from './doubt.ts';

/** Variables of recipes that stand where a program does: the GNU make manual, "Variables Used by Implicit Rules". */
const programs =
  /^(AR|AS|CC|CXX|CPP|FC|GO|LD|LEX|YACC|RM|CMD|COMMAND|RUN(NER)?|EXEC|SUDO|PYTHON3?|NODE|NPM|NPX|PHP|RUBY|JAVA|CARGO|DOCKER|\w+_(CMD|COMMAND|CC|CXX|LD))$/;
const shells = /^(.*\/)?(ba|da|z|k|c|fi|tc)?sh$|^(eval|exec|env|xargs)$/;

/** `gcc`, `ccache gcc`, `clang -m32`, `.venv/bin/python`: programs of the system or of the project, with options. */
const plainProgram =
  /^(?:(?:ccache|sccache|distcc) )?((?:\/usr\/(?:local\/)?bin\/|\/bin\/|(?:[\w.-]+\/)+|)[\w.+-]+)?(?: -[\w.=+/-]+)*$/;

function replacesProgram(name: string, value: string): boolean {
  if (!programs.test(name)) return false;
  const found = plainProgram.exec(value);
  return found === null || /(^|\/)\.\.(\/|$)/.test(value) || shells.test(found[1] ?? '');
}

/** What make expands when it reads the value, and what a shell would take for more than a word of a recipe. */
const runsWhenRead = /\$[({]|`/;
const endsWord = /[;&|<>\n]/;

/** Variables that replace what runs the recipes, or what a recipe runs. */
export const makeVariables: Doubts = (call) => {
  for (const [index, word] of call.words.entries()) {
    const [, name = '', value = ''] = /^(\.?\w+)(?::{0,3}|[?+!])=(.*)$/s.exec(word) ?? [];
    if (index === 0 || name === '') continue;
    if (/^\.?(SHELL|SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES)$/.test(name))
      return doubtAt(index, 'replaces the shell of make');
    if (runsWhenRead.test(value)) return doubtAt(index, 'make expands the value as code');
    if (endsWord.test(value.replace(/'[^']*'|"[^"]*"/g, '')))
      return doubtAt(index, 'the value ends a command of the recipe');
    if (replacesProgram(name, value)) return doubtAt(index, 'replaces a program of the recipes');
  }
  return undefined;
};
