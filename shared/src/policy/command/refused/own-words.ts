import { readWrapper } from '../wrappers/grammar.ts';
import { wrapperTable } from '../wrappers/table.ts';
import type { Call } from './call.ts';

/** How an interpreter reads its options, up to the script that gets the rest. */
interface ScriptGrammar {
  /** Letters of options whose value may be the next word. */
  readonly valued: string;
  /** Letters of options behind whose value everything belongs to the code that they name. */
  readonly last?: string;
  /** Long options without a value; behind any other the next word may be its value. */
  readonly flags?: RegExp;
}

const node: ScriptGrammar = {
  valued: 'reCpP',
  flags:
    /^--(test|test-only|watch|inspect|inspect-brk|check|enable-source-maps|no-[\w-]+|trace-(warnings|deprecation|uncaught|exit)|throw-deprecation|expose-gc|preserve-symlinks|experimental-(strip-types|transform-types|vm-modules|test-coverage|sqlite)|esm|transpile-only|swc)$/,
};

/** By the name without its version. */
const scripts: Readonly<Record<string, ScriptGrammar>> = {
  node,
  nodejs: node,
  tsx: node,
  'ts-node': node,
  python: { valued: 'WXQmc', last: 'mc' },
  pypy: { valued: 'WXQmc', last: 'mc' },
  ruby: { valued: 'eICEr' },
  perl: { valued: 'eEI' },
  php: { valued: 'rBREdcftSzF' },
  lua: { valued: 'el' },
  luajit: { valued: 'el' },
  deno: { valued: 'cL', flags: /^--(quiet|unstable)$/ },
  bun: { valued: 'epr', flags: /^--(watch|hot|silent|bun)$/ },
  rscript: { valued: 'eg', flags: /^--(vanilla|no-[\w-]+|slave|quiet)$/ },
  osascript: { valued: 'els' },
  julia: { valued: 'eELJPpCtHO' },
};

/** Wrappers with options of their own that mean something else to what they run. */
const wrappers: readonly string[] = ['ssh', 'docker', 'podman', 'strace', 'ltrace'];

/**
 * The call without the words that it hands on: what stands behind an interpreter's script, an image's name, a remote
 * host belongs to the program there. In doubt a word is the call's own.
 */
export function ownWords(call: Call): Call {
  const end = endOf(call);
  return end >= call.words.length
    ? call
    : { ...call, words: call.words.slice(0, end), raws: call.raws.slice(0, end) };
}

/** Interpreters carry versions in their names: `python3.12`, `pypy3`, `ruby3.2`. */
export function withoutVersion(name: string): string {
  return name.replace(/^(python|pypy|ruby|perl|php|node|lua)-?\d[\d.]*$/, '$1');
}

function endOf(call: Call): number {
  if (call.name === 'go') return endOfGo(call.words);
  const plain = withoutVersion(call.name);
  const grammar = Object.hasOwn(scripts, plain) ? scripts[plain] : undefined;
  if (grammar !== undefined) return endOfScript(grammar, call.words);
  return wrappers.includes(call.name) ? endOfWrapper(call) : call.words.length;
}

/** `go run PACKAGE …` and `go test … -args …` hand the rest on. */
function endOfGo(words: readonly string[]): number {
  const args = words.findIndex((word) => word === '-args' || word === '--args');
  if (args > 0) return args;
  if (words[1] !== 'run') return words.length;
  const end = words.findIndex(
    (word, index) =>
      index > 1 &&
      /^\.|[/.]|^[a-z]+$/.test(word) &&
      !word.startsWith('-') &&
      !/^-(exec|toolexec|C|o|tags|mod|p|ldflags|gcflags)$/.test(words[index - 1] ?? ''),
  );
  return end < 0 ? words.length : end + 1;
}

function endOfScript(grammar: ScriptGrammar, words: readonly string[]): number {
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--' || word === '-' || !word.startsWith('-')) return at + 1;
    if (word.startsWith('--')) {
      const takes = !word.includes('=') && grammar.flags?.test(word) !== true;
      if (takes && !(words[at + 1] ?? '-').startsWith('-')) at += 1;
      continue;
    }
    const letter = Array.from(word.slice(1)).findIndex((one) => grammar.valued.includes(one)) + 1;
    if (letter === 0) continue;
    const apart = letter === word.length - 1;
    if (grammar.last?.includes(word[letter] ?? '') === true) return at + (apart ? 2 : 1);
    if (apart) at += 1;
  }
  return words.length;
}

/** A host or an image is the call's own, the command behind it is not. */
function endOfWrapper(call: Call): number {
  const grammar = Object.hasOwn(wrapperTable, call.name) ? wrapperTable[call.name] : undefined;
  if (grammar === undefined) return call.words.length;
  const after = call.words.findIndex((word, index) => index > 0 && grammar.after?.includes(word) === true);
  if (grammar.after !== undefined && after < 0) return call.words.length;
  // an image's name ends docker's options; ssh reads options behind the host as well
  const image = grammar.after !== undefined;
  const { starts } = readWrapper(
    image ? { ...grammar, operands: 0 } : grammar,
    call.words,
    Math.max(1, after + 1),
  );
  // read in two ways, it may end anywhere
  const [start] = starts;
  return start === undefined || starts.length > 1 ? call.words.length : start + (image ? 1 : 0);
}
