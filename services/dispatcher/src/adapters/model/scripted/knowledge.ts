import { dirname, join, normalize } from 'node:path/posix';
import type { Conversation, ToolExchange } from './conversation.ts';
import { candidateKey } from './repair/candidates.ts';
import { readTestReport } from './repair/test-report.ts';
import type { TestReport } from './repair/test-report.ts';
import { listedFiles, readFileText } from './tool-results.ts';

/** An edit that has been made and not yet been judged, or that did not help. */
export interface Trial {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  /** The file before the edit, for an undo that must not fail. */
  readonly fileBefore: string | undefined;
  readonly verdict: 'untested' | 'useless';
  readonly undoFailed: boolean;
}

/** What the exchanges so far have shown. Everything is derived; nothing is remembered between requests. */
export interface Knowledge {
  readonly listing: readonly string[] | undefined;
  /** Current text of every file that was read; undefined where reading failed. */
  readonly files: ReadonlyMap<string, string | undefined>;
  /** The newest run without an unjudged edit. */
  readonly report: TestReport | 'unreadable' | undefined;
  readonly trial: Trial | undefined;
  /** Keys of all edits that were tried. */
  readonly tried: ReadonlySet<string>;
  /** Edits that stay. */
  readonly kept: readonly Trial[];
}

interface Draft {
  listing: readonly string[] | undefined;
  readonly files: Map<string, string | undefined>;
  report: TestReport | 'unreadable' | undefined;
  trial: Trial | undefined;
  readonly tried: Set<string>;
  readonly kept: Trial[];
}

const pathOf = (exchange: ToolExchange): string => normalize(String(exchange.input['path'] ?? '.'));

function noteEdit(draft: Draft, exchange: ToolExchange): void {
  const path = pathOf(exchange);
  const oldText = String(exchange.input['old_text'] ?? '');
  const newText = String(exchange.input['new_text'] ?? '');
  const { trial } = draft;
  const isUndo = trial !== undefined && trial.oldText === newText && trial.newText === oldText;
  if (exchange.isError) {
    if (isUndo) draft.trial = { ...trial, undoFailed: true };
    else draft.tried.add(candidateKey({ path, oldText, newText }));
    return;
  }
  const before = draft.files.get(path);
  draft.files.set(
    path,
    before?.replace(oldText, () => newText),
  );
  if (isUndo) {
    draft.trial = undefined;
    return;
  }
  draft.tried.add(candidateKey({ path, oldText, newText }));
  draft.trial = { path, oldText, newText, fileBefore: before, verdict: 'untested', undoFailed: false };
}

function helped(before: Draft['report'], after: TestReport): boolean {
  if (after.failed === 0) return after.passed > 0;
  return typeof before === 'object' && after.failed < before.failed && after.passed > before.passed;
}

function noteRun(draft: Draft, exchange: ToolExchange): void {
  const report = readTestReport(exchange.result) ?? 'unreadable';
  if (draft.trial === undefined) {
    draft.report = report;
    return;
  }
  if (typeof report === 'object' && helped(draft.report, report)) {
    draft.kept.push(draft.trial);
    draft.trial = undefined;
    draft.report = report;
    return;
  }
  draft.trial = { ...draft.trial, verdict: 'useless' };
}

function noteWrite(draft: Draft, exchange: ToolExchange): void {
  if (exchange.isError) return;
  draft.files.set(pathOf(exchange), String(exchange.input['content'] ?? ''));
  draft.trial = undefined;
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
    kept: [],
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

/** The file that a relative import names, as the listing spells it. */
export function resolveImport(
  importer: string,
  specifier: string,
  listing: readonly string[],
): string | undefined {
  const base = normalize(join(dirname(importer), specifier));
  return [base, `${base}.js`, `${base}.mjs`, `${base}.cjs`, `${base}/index.js`].find((path) =>
    listing.includes(path),
  );
}
