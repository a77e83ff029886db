import { joinPath } from './paths/path-kind.ts';
import { callOf } from './calls.ts';
import type { Words } from './calls.ts';
import { coveredWords } from './free-commands.ts';
import { plainBuildWords } from './hardening/build-words.ts';
import { plainGitWords, withoutOwnFolder } from './hardening/git-words.ts';
import { optionWritesDevice, riskyOptions } from './hardening/options.ts';
import { programDoubts } from './hardening/programs.ts';
import type { Doubt } from './hardening/doubt.ts';
import { integerName, variableDoubt } from './hardening/variables.ts';
import { isHarmlessBuiltin } from './harmless-builtins.ts';
import { isInterpreter, readsCodeFromInput, readsOwnCommands } from './interpreters.ts';
import { windowsName } from './command-name.ts';
import { mayBeGuarded } from './guarded-calls.ts';
import { note, noteGuarded } from './pieces.ts';
import { noteFlagged } from './flagged-writes.ts';
import { writtenPaths } from './hardening/written-paths.ts';
import type { Call } from './refused/call.ts';
import { hasOption } from './refused/call.ts';
import { refusalOf, refusalOfPattern } from './refused/families.ts';
import { branchOff, spend, TooMuchWork } from './scope.ts';
import type { Scope, StandardInput } from './scope.ts';
import { UnreadableScript } from './syntax/bash-syntax.ts';
import { isKnown, mark } from './syntax/marks.ts';
import type { Inner } from './wrappers/inner.ts';
import { readShell, shells } from './wrappers/shells.ts';
import { runsPackages, startedModule, unwrap } from './wrappers/unwrap.ts';
import { windowsRefusalsIn } from './windows/judge-windows-line.ts';

/** Why a piece asks that an approval command of the policy covers. */
export const approvalReason = 'the policy wants an approval for this command';

/** What is known about a call besides its words. */
export interface Circumstances {
  /** The name comes from an expansion. */
  readonly dynamic: boolean;
  /** The command's own redirections feed its standard input. */
  readonly fed: boolean;
  /** What it reads from its standard input, where that is known. */
  readonly text: string | undefined;
  /** What stands in front of the command's words: `time`, `NAME=value`. A free command may begin with it. */
  readonly lead?: readonly string[];
  /** The texts of its process substitutions, where those are known. */
  readonly files?: readonly string[];
}

/** Judges a text as a script of its own. */
export type JudgeCode = (code: string, scope: Scope, positional?: readonly string[]) => void;

/** Wrappers inside wrappers go no deeper than people write them. */
const maxDepth = 8;

/** `find` with several `-exec`, `concurrently` with many scripts: more than this is no command of a person. */
const maxInners = 256;

/** Judges one command and everything that it runs in turn. */
export function judgeCall(given: Words, scope: Scope, facts: Circumstances, judgeCode: JudgeCode): void {
  spend(scope.shared, given.words.length);
  if (scope.depth > maxDepth) throw new TooMuchWork('commands are nested too deeply to be judged');
  const call = callOf(given, scope.cwd);
  const text = call.words.join(' ');
  if (evaluatesNames(call)) scope.shared.arithmetic = true;
  if (facts.dynamic || !isKnownName(call.words[0] ?? '')) return judgeUnknown(call, scope, text, judgeCode);
  const refused = refusalOf(call) ?? optionWritesDevice(call);
  if (refused !== undefined) return note(scope, text, 'refuse', refused);
  const other = windowsName(call.raws[0] ?? '');
  if (other !== undefined)
    refusalsOnly(scope, () => judgeCall(renamed(call, other), deeper(scope, {}), facts, judgeCode));
  const plain = withoutHarmlessOptions(call, scope);
  const { rules } = scope.shared;
  const covered = coveredBehind(facts.lead ?? [], plain.words, scope);
  const inners = unwrap(call, facts.text);
  judgeInners(call, inners, scope, facts, covered, judgeCode);
  if (facts.text !== undefined && readsShellCode(call))
    refusalsOnly(scope, () => judgeCode(facts.text ?? '', deeper(scope, {})));
  if (runsFiles(call))
    for (const file of facts.files ?? []) refusalsOnly(scope, () => judgeCode(file, deeper(scope, {})));
  const doubt =
    firstDoubt(plain, covered) ?? runDoubt(call, inners, covered) ?? inputDoubt(call, scope, facts);
  const flagged = noteFlagged(scope, text, writtenPaths(call));
  const guarded = mayBeGuarded(rules.approval, plain, scope.shared);
  if (guarded) noteGuarded(scope, text, approvalReason);
  if (doubt !== undefined) return note(scope, text, 'ask', doubt);
  if (guarded || flagged) return undefined;
  if (covered > 0)
    return note(scope, text, 'allow', `free command: ${plain.words.slice(0, covered).join(' ')}`);
  if (scope.functions.has(call.words[0] ?? ''))
    return note(scope, text, 'allow', 'a function that was judged');
  if (isHarmlessBuiltin(call, scope.source))
    return note(scope, text, 'allow', 'steers the script and runs nothing');
  return note(scope, text, 'ask', 'no free command covers it');
}

/** Builtins that take words for names of variables: bash evaluates the subscripts of those as arithmetic. */
const namesEvaluated: readonly string[] = [
  'let',
  'read',
  'unset',
  'declare',
  'typeset',
  'local',
  'export',
  'readonly',
  'mapfile',
  'readarray',
  'getopts',
];

function evaluatesNames({ name, words }: Call): boolean {
  if (namesEvaluated.includes(name)) return true;
  if (name === 'printf' || name === 'test' || name === '[')
    return words.some((word) => word.startsWith('-v'));
  return name === 'wait' && words.some((word) => /^-[a-z]*p/.test(word));
}

function renamed(call: Call, name: string): Words {
  return { words: [name, ...call.words.slice(1)], raws: [name, ...call.raws.slice(1)] };
}

function isKnownName(name: string): boolean {
  return name !== '' && isKnown(name.startsWith(mark.home) ? name.slice(1) : name);
}

/**
 * The name is known only when it runs. It may be empty or a wrapper, then the next word is the command; and
 * arguments that force a recursive deletion of the system are refused whatever the name is.
 */
function judgeUnknown(call: Call, scope: Scope, text: string, judgeCode: JudgeCode): void {
  const fitting = refusalOfPattern(call.words[0] ?? '');
  if (fitting !== undefined) return note(scope, text, 'refuse', fitting);
  // the folder is not known, the program is: `$BIN/sudo`
  const named =
    /[/\uE001\uE002]/.test(call.words[0] ?? '') && isKnown(call.name) ? refusalOf(call) : undefined;
  if (named !== undefined) return note(scope, text, 'refuse', named);
  // `$SHELL -c '…'`
  const code = readShell(call).inner;
  if (code !== undefined && 'code' in code.run) {
    const { code: given, positional } = code.run;
    refusalsOnly(scope, () => judgeCode(given, deeper(scope, {}), positional));
  }
  const next = call.words.findIndex((word, index) => index > 0 && !word.startsWith('-'));
  const inner = next < 0 ? undefined : callOf(rest(call, next), call.cwd);
  const refused = inner === undefined || builtinWords.includes(inner.name) ? undefined : refusalOf(inner);
  if (refused !== undefined) return note(scope, text, 'refuse', refused);
  const forces = hasOption(call.words, 'r', '--recursive') && hasOption(call.words, 'f', '--force');
  const deletes = forces ? refusalOf({ ...call, name: 'rm' }) : undefined;
  if (deletes !== undefined) return note(scope, text, 'refuse', deletes);
  if (mayBeGuarded(scope.shared.rules.approval, call, scope.shared)) noteGuarded(scope, text, approvalReason);
  return note(scope, text, 'ask', 'its name is known only when it runs');
}

/** `eval` and `exec` are ordinary words of other tools. */
const builtinWords: readonly string[] = ['eval', 'exec'];

function rest(call: Call, from: number): Words {
  return { words: call.words.slice(from), raws: call.raws.slice(from) };
}

function judgeInners(
  call: Call,
  inners: readonly Inner[],
  scope: Scope,
  facts: Circumstances,
  covered: number,
  judgeCode: JudgeCode,
): void {
  if (inners.length > maxInners) throw new TooMuchWork('the command runs too many others to be judged');
  for (const inner of inners) {
    const kept = inner.keepsInput === true;
    const inside = deeper(scope, {
      covered: scope.covered || covered > inner.from,
      input: inputOfInner(inner, scope, facts),
      cwd: inner.cwd === undefined ? scope.cwd : joinPath(inner.cwd, scope.cwd),
    });
    const judge = () =>
      judgeInner(
        inner,
        inside,
        { ...facts, lead: [], ...(kept ? {} : { fed: false, text: undefined }) },
        judgeCode,
      );
    if (readsScriptNames(call, inner))
      note(scope, call.words.join(' '), 'ask', 'an interpreter runs what xargs reads');
    if (inner.refusalsOnly !== true) {
      judge();
      continue;
    }
    refusalsOnly(scope, judge);
    const read =
      kept && !('code' in inner.run) ? inputDoubt(callOf(inner.run, call.cwd), scope, facts) : undefined;
    if (read !== undefined && covered <= inner.from) note(scope, call.words.join(' '), 'ask', read);
  }
}

/** What feeds a wrapper feeds what it runs; code of a joined command line has no redirection of its own for it. */
function inputOfInner(inner: Inner, scope: Scope, facts: Circumstances): StandardInput {
  if (inner.keepsInput !== true) return { from: 'nothing' };
  return facts.fed && 'code' in inner.run ? { from: 'pipe', text: facts.text } : scope.input;
}

/** `xargs bash` without a script of its own: the names of the scripts come through the pipe. */
function readsScriptNames(call: Call, inner: Inner): boolean {
  if (!/^g?xargs$/.test(call.name) || 'code' in inner.run) return false;
  const own = call.words.slice(inner.from);
  return (
    isInterpreter(callOf(inner.run, call.cwd).name) && !own.slice(1).some((word) => !word.startsWith('-'))
  );
}

function judgeInner(inner: Inner, scope: Scope, facts: Circumstances, judgeCode: JudgeCode): void {
  if ('code' in inner.run) {
    if (inner.run.windows === true) return judgeWindowsCode(inner.run.code, scope, judgeCode);
    return judgeCode(inner.run.code, scope, inner.run.positional);
  }
  return judgeCall(inner.run, scope, { ...facts, dynamic: false }, judgeCode);
}

/** PowerShell and cmd share enough with bash to be read by its parser; where they do not, their own reading is asked. */
function judgeWindowsCode(code: string, scope: Scope, judgeCode: JudgeCode): void {
  const noteRefusals = (forms: 'windows' | 'all'): void => {
    for (const { text, reason } of windowsRefusalsIn(code, forms)) note(scope, text, 'refuse', reason);
  };
  noteRefusals('windows');
  try {
    return judgeCode(code, scope);
  } catch (error) {
    if (!(error instanceof UnreadableScript)) throw error;
  }
  noteRefusals('all');
  return note(scope, code, 'ask', 'code of another shell that is not understood');
}

function deeper(scope: Scope, changes: Partial<Scope>): Scope {
  return branchOff(scope, { depth: scope.depth + 1, ...changes });
}

/** Runs a judgement of which only refusals and needed approvals stay; a text that cannot be read is neither. */
export function refusalsOnly(scope: Scope, judge: () => void): void {
  const { pieces, guarded } = scope.shared;
  const before = pieces.length;
  try {
    judge();
  } catch (error) {
    if (!(error instanceof UnreadableScript)) throw error;
  } finally {
    const kept = pieces.splice(before).filter((piece) => piece.verdict === 'refuse' || guarded.has(piece));
    pieces.push(...kept);
  }
}

function withoutHarmlessOptions(call: Call, scope: Scope): Call {
  const kept = call.name === 'git' ? withoutGitLooks(call, scope) : withoutBuildLooks(call, scope);
  return kept === call.words ? call : { ...call, words: kept, raws: kept };
}

/** A folder of the working copy (`-C sub`) is as good as a `cd` to it, unless a free command names it itself. */
function withoutGitLooks({ words, cwd }: Call, scope: Scope): readonly string[] {
  const plain = plainGitWords(words);
  const { free } = scope.shared.rules;
  return coveredWords(free, plain, scope.shared) > 0 ? plain : withoutOwnFolder(plain, cwd);
}

/** A free command that names the options itself is compared as it stands. */
function withoutBuildLooks({ words }: Call, scope: Scope): readonly string[] {
  return coveredWords(scope.shared.rules.free, words, scope.shared) > 0 ? words : plainBuildWords(words);
}

/** Builtins and wrappers whose words set variables. */
const setters: readonly string[] = [
  'export',
  'declare',
  'typeset',
  'local',
  'readonly',
  'env',
  'cross-env',
  'setenv',
];
/** Builtins whose words name variables that are written. */
const writers: readonly string[] = [
  'read',
  'printf',
  'mapfile',
  'readarray',
  'getopts',
  'declare',
  'typeset',
  'local',
  'wait',
];

/** What a package's program is told to do by its own options: `npx eslint -o FILE`, `uv run python -c …`. */
function runDoubt(call: Call, inners: readonly Inner[], covered: number): string | undefined {
  if (!runsPackages(call)) return undefined;
  const inner = startedModule(call) ?? inners.find(({ run }) => !('code' in run));
  if (inner === undefined || 'code' in inner.run) return undefined;
  return firstDoubt(callOf(inner.run, call.cwd), covered - inner.from);
}

function firstDoubt(call: Call, covered: number): string | undefined {
  const risky = riskyOptions(call).map(({ index, option, effect }): Doubt => ({
    index,
    reason: `${option} ${effect}`,
  }));
  const doubts = [...risky, ...programDoubts(call), ...variableDoubts(call)];
  return doubts.find((doubt) => doubt.index >= covered)?.reason;
}

function variableDoubts(call: Call): Doubt[] {
  const doubts: Doubt[] = [];
  const names = call.words.some((word) => /^-[a-zA-Z]*n/.test(word));
  if (setters.includes(call.name))
    for (const [index, word] of call.words.entries()) {
      const found = /^([A-Za-z_]\w*(?:%%)?)(?:\[.*?\])?\+?=(.*)$/s.exec(word);
      if (found === null && call.name === 'env' && index > 0 && !word.startsWith('-')) break;
      const reason = found === null ? undefined : variableDoubt(found[1] ?? '', found[2] ?? '');
      if (reason !== undefined) doubts.push({ index, reason });
      else if (found !== null && names) {
        // what is written through another name is known where that name is used
        const other = variableDoubt(found[2] ?? '', mark.unknown);
        if (other !== undefined) doubts.push({ index, reason: other });
      }
    }
  if (writers.includes(call.name))
    for (const [index, word] of call.words.entries()) {
      // a declaration without a value leaves a number what it is
      const value = setters.includes(call.name) && integerName.test(word) ? '' : mark.unknown;
      const name = /^([A-Za-z_]\w*)(?:\[.*\]|[\uE000-\uE002].*)?$/s.exec(word)?.[1];
      const reason = index > 0 && name !== undefined ? variableDoubt(name, value) : undefined;
      if (reason !== undefined) doubts.push({ index, reason });
    }
  return doubts;
}

/** How many of the words a free command covers, whether or not it names what stands in front of them. */
function coveredBehind(lead: readonly string[], words: readonly string[], scope: Scope): number {
  const { free } = scope.shared.rules;
  let longest = coveredWords(free, words, scope.shared);
  for (let from = 0; from < lead.length; from += 1) {
    const before = lead.slice(from);
    longest = Math.max(longest, coveredWords(free, [...before, ...words], scope.shared) - before.length);
  }
  return longest;
}

/** A file that is no file: `<(…)`, `/dev/fd/3`. */
const standsForText = /^(<\(|\/dev\/fd\/\d|\/proc\/self\/fd\/\d)/;

/** Whether it runs what such a file stands for. */
function runsFiles(call: Call): boolean {
  const runs = shells.includes(call.name) || call.name === 'source' || call.name === '.';
  return runs && call.raws.some((raw) => standsForText.test(raw));
}

/** Whether what stands on its standard input is run as shell code. */
function readsShellCode(call: Call): boolean {
  if (call.name === 'source' || call.name === '.') return readsCodeFromInput(call);
  if (shells.includes(call.name)) return readsCodeFromInput(call);
  return call.name === 'at' || call.name === 'batch' || isRemoteShell(call);
}

/** `ssh host` without a command: a shell at the other end reads what stands on the input. */
function isRemoteShell(call: Call): boolean {
  return (
    call.name === 'ssh' &&
    !call.words.includes('-N') &&
    unwrap(call, undefined).every(({ refusalsOnly: extra }) => extra === true)
  );
}

function inputDoubt(call: Call, scope: Scope, facts: Circumstances): string | undefined {
  if (isRemoteShell(call) && (facts.fed || scope.input.from !== 'nothing'))
    return 'a shell at the other end reads its code from the standard input';
  if (scope.input.from === 'pipe' && readsOwnCommands(call))
    return 'a pipe into a program whose own commands can run others';
  if (!isInterpreter(call.name)) return undefined;
  if (scope.input.from === 'pipe') return 'a pipe into an interpreter';
  if (call.raws.some((raw) => standsForText.test(raw)))
    return 'an interpreter runs what another command prints';
  const fed = facts.fed || scope.input.from === 'surroundings';
  return fed && readsCodeFromInput(call)
    ? 'an interpreter reads its code from the standard input'
    : undefined;
}
