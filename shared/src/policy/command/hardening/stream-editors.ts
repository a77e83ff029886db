import type { Call } from '../refused/call.ts';
import { hasUnknown, mark } from '../syntax/marks.ts';
import { doubtAt } from './doubt.ts';
import type { Doubts } from './doubt.ts';
import { sedEffects } from './sed-script.ts';

/** sed's scripts: the `-e`s are lines of one, else it is the first operand. A file of commands is code nobody has read. */
export const sed: Doubts = (call) => {
  const words = call.words;
  const file = words.findIndex((word) => /^(-[a-zA-Z]*f|--file.*)$/.test(word));
  if (file > 0) return doubtAt(file, 'sed reads its commands from a file');
  const expressions = words.flatMap((word, index) =>
    index > 0 &&
    (/^(-[a-zA-Z]*e|--expression)$/.test(words[index - 1] ?? '') || /^(--expression=|-[nEsuz]*e.)/.test(word))
      ? [index]
      : [],
  );
  const operand = words.findIndex((word, index) => index > 0 && !word.startsWith('-'));
  const places = expressions.length > 0 ? expressions : operand > 0 ? [operand] : [];
  const last = places.at(-1);
  if (last === undefined) return undefined;
  const scripts = places.map((index) => (words[index] ?? '').replace(/^(--expression=|-[nEsuz]*e(?=.))/, ''));
  if (scripts.includes(mark.unknown)) return doubtAt(last, 'the sed script is known only when it runs');
  const script = scripts.join('\n');
  const effects = sedEffects(script);
  if (effects === undefined && !hasUnknown(script)) return doubtAt(last, 'the sed script is not understood');
  const effect = effects?.[0];
  return effect === undefined ? undefined : doubtAt(last, `the sed script ${effect}`);
};

/** awk's ways out of the stream: POSIX awk, "Output Statements" and "system()". */
const awkRuns =
  /\bsystem\s*\(|"\s*\|&?\s*(getline|&)|\|&?\s*getline|\bprintf?\b(?:[^;}\n|]|\|\|)*\|(?!\|)|(^|[;{}\s(=,])@[A-Za-z_]/;
const awkWrites = /\bprintf?\b[^;}\n]*>/;

/** The patterns above look ahead as far as a statement goes; longer programs ask. */
const maxProgram = 4000;

function withoutGroups(program: string): string {
  let text = program;
  for (let depth = 0; depth < 8; depth += 1) {
    const next = text.replace(/\([^()]*\)/g, ' ');
    if (next === text) break;
    text = next;
  }
  return text;
}

/** awk programs that run code, write a file, or are not there to be read. */
export const awk: Doubts = (call) => {
  for (const [index, word] of call.words.entries()) {
    if (index === 0) continue;
    if (word.length > maxProgram) return doubtAt(index, 'the awk program is too long to be read');
    if (/^(-|\/dev\/stdin)$/.test(word) && /^(-f|--file)$/.test(call.words[index - 1] ?? ''))
      return doubtAt(index, 'awk reads its program from the standard input');
    const program = word
      .replace(/>>?\s*"\/dev\/(null|stdout|stderr)"/g, '')
      .replace(/"(?:\\.|[^"\\])*"/gs, '""');
    // inside parentheses `>` compares
    const statements = withoutGroups(program);
    if (word === mark.unknown && !(call.words[index - 1] ?? '').startsWith('-') && isProgram(call, index))
      return doubtAt(index, 'the awk program is known only when it runs');
    if (awkRuns.test(program)) return doubtAt(index, 'the awk program runs code');
    if (awkWrites.test(statements) && !word.startsWith('-F'))
      return doubtAt(index, 'the awk program writes a file');
    if (/^(-i|--include|-l|--load|-E|--exec|-f|--file)/.test(word)) return doubtAt(index, 'awk loads a file');
    if (/^(-[opd]|--pretty-print|--profile|--dump-variables)/.test(word) && call.name === 'gawk')
      return doubtAt(index, 'awk writes a file');
  }
  return undefined;
};

/** Whether no operand stands before this one: the first is the program. */
function isProgram(call: Call, index: number): boolean {
  return call.words
    .slice(1, index)
    .every((word, place) => word.startsWith('-') || /^-[vF]$/.test(call.words[place] ?? ''));
}
