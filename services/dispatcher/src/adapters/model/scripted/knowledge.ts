import { dirname, join, normalize } from 'node:path/posix';
import type { Conversation, ToolExchange } from './conversation.ts';
import { candidateKey } from './repair/candidates.ts';
import { addPart, helped } from './repair/progress.ts';
import { readTestReport } from './repair/test-report.ts';
import type { TestReport } from './repair/test-report.ts';
import { listedFiles, readFileText } from './tool-results.ts';

/** The command that runs every test; any other command of ours runs some of the files. */
export const wholeSuite = 'npm test';

/** An edit that has been made and not yet been judged, or that did not help. */
export interface Trial {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** `promising`: the failing files pass or do better; the whole suite has not been asked yet. */
  readonly verdict: 'untested' | 'promising' | 'useless';
  readonly undoFailed: boolean;
}

/** An edit that stays. */
export interface Kept {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** No test more passes; one came further. It stays only if something follows. */
  readonly isHalf: boolean;
}

/** What the exchanges so far have shown. Everything is derived; nothing is remembered between requests. */
export interface Knowledge {
  readonly listing: readonly string[] | undefined;
  /** Text of every file that was read, without an edit on trial; undefined where reading failed. */
  readonly files: ReadonlyMap<string, string | undefined>;
  /** The newest run without an unjudged edit. */
  readonly report: TestReport | 'unreadable' | undefined;
  readonly trial: Trial | undefined;
  /** Keys of the edits that were tried since the last one that stays. */
  readonly tried: ReadonlySet<string>;
  readonly tries: number;
  readonly kept: readonly Kept[];
  /** Commands that ran some of the tests while nothing was on trial. */
  readonly partRuns: ReadonlySet<string>;
}

interface Draft {
  listing: readonly string[] | undefined;
  readonly files: Map<string, string | undefined>;
  report: TestReport | 'unreadable' | undefined;
  trial: Trial | undefined;
  readonly tried: Set<string>;
  tries: number;
  kept: Kept[];
  readonly partRuns: Set<string>;
}

const pathOf = (exchange: ToolExchange): string => normalize(String(exchange.input['path'] ?? '.'));

function noteEdit(draft: Draft, exchange: ToolExchange): void {
  const path = pathOf(exchange);
  const { trial } = draft;
  const before = trial?.path === path ? trial.before : draft.files.get(path);
  const current = trial?.path === path ? trial.after : before;
  const newText = String(exchange.input['new_text'] ?? '');
  if (before === undefined || current === undefined) return;
  const after = current.replace(String(exchange.input['old_text'] ?? ''), () => newText);
  const isUndo = after === before;
  if (!isUndo && !(trial === undefined && undoesHalf(draft, path, after, exchange.isError))) {
    draft.tried.add(candidateKey({ path, after }));
    draft.tries += 1;
  }
  if (exchange.isError) {
    if (trial !== undefined) draft.trial = { ...trial, undoFailed: true };
    return;
  }
  if (isUndo) draft.trial = undefined;
  else if (draft.files.get(path) !== after) {
    draft.trial = { path, before, after, verdict: 'untested', undoFailed: false };
  }
}

/** The last edit that stays is taken back, because nothing came of it. */
function undoesHalf(draft: Draft, path: string, after: string, isError: boolean): boolean {
  const half = draft.kept.at(-1);
  if (half === undefined || !half.isHalf || half.path !== path || half.before !== after) return false;
  draft.kept = draft.kept.slice(0, -1);
  if (!isError) draft.files.set(path, after);
  return true;
}

function noteRun(draft: Draft, exchange: ToolExchange): void {
  const command = String(exchange.input['command'] ?? '');
  const isWhole = command === wholeSuite;
  const report = readTestReport(exchange.result) ?? 'unreadable';
  const { trial, report: known } = draft;
  if (trial === undefined) {
    if (isWhole) draft.report = report;
    else draft.partRuns.add(command);
    if (!isWhole && typeof report === 'object' && typeof known === 'object') {
      draft.report = addPart(known, report);
    }
    return;
  }
  const help =
    typeof report === 'object' && typeof known === 'object' ? helped(known, report, isWhole) : 'no';
  if (help === 'no' || typeof report !== 'object') {
    draft.trial = { ...trial, verdict: 'useless' };
  } else if (!isWhole) {
    draft.trial = { ...trial, verdict: 'promising' };
  } else keep(draft, trial, report, help === 'further');
}

function keep(draft: Draft, trial: Trial, report: TestReport, isHalf: boolean): void {
  const { path, before, after } = trial;
  // Something came of the halves before it.
  const earlier = isHalf ? draft.kept : draft.kept.map((edit) => ({ ...edit, isHalf: false }));
  draft.kept = [...earlier, { path, before, after, isHalf }];
  draft.files.set(path, after);
  draft.trial = undefined;
  draft.report = report;
  draft.tried.clear();
  draft.partRuns.clear();
}

function noteWrite(draft: Draft, exchange: ToolExchange): void {
  if (!exchange.isError) draft.trial = undefined;
}

const notes: Readonly<Record<string, (draft: Draft, exchange: ToolExchange) => void>> = {
  list_files: (draft, exchange) => {
    draft.listing = exchange.isError ? [] : listedFiles(exchange.result);
  },
  read_file: (draft, exchange) => {
    draft.files.set(pathOf(exchange), exchange.isError ? undefined : readFileText(exchange.result));
  },
  edit_file: noteEdit,
  write_file: noteWrite,
  run_command: noteRun,
};

/** Folds the exchanges since the instruction into what is known now. */
export function gatherKnowledge(conversation: Conversation): Knowledge {
  const draft: Draft = {
    listing: undefined,
    files: new Map(),
    report: undefined,
    trial: undefined,
    tried: new Set(),
    tries: 0,
    kept: [],
    partRuns: new Set(),
  };
  for (const exchange of conversation.exchanges) notes[exchange.tool]?.(draft, exchange);
  return draft;
}

/** A printed path as the listing spells it: `/workspace/src/a.js` → `src/a.js`. */
export function relativePath(printed: string, listing: readonly string[]): string | undefined {
  const plain = normalize(printed);
  if (listing.includes(plain)) return plain;
  return listing
    .filter((path) => plain.endsWith(`/${path}`))
    .sort((left, right) => right.length - left.length)[0];
}

const importEndings = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '/index.js', '/index.ts'];

/** The file that a relative import names, as the listing spells it. */
export function resolveImport(
  importer: string,
  specifier: string,
  listing: readonly string[],
): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const base = normalize(join(dirname(importer), specifier));
  return importEndings.map((ending) => `${base}${ending}`).find((path) => listing.includes(path));
}
