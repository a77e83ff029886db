import type { Conversation } from './conversation.ts';
import { gatherKnowledge } from './knowledge.ts';
import type { Knowledge } from './knowledge.ts';
import { findNextStep, isIncomplete, nextPart } from './next-step.ts';
import type { NextStep } from './next-step.ts';
import { editBetween } from './repair/text-edit.ts';
import type { TestReport } from './repair/test-report.ts';
import { findSuspects } from './suspects.ts';
import type { Suspects } from './suspects.ts';
import { focusCommand, otherRunner, usesNodeRunner } from './test-command.ts';
import { saysRefused } from './tool-results.ts';

/** What a script's rules ask about. Texts that do not apply are empty. */
export type FactValue = string | number;

interface View {
  readonly conversation: Conversation;
  readonly known: Knowledge;
  readonly report: TestReport | undefined;
  readonly suspects: () => Suspects | undefined;
  readonly next: () => NextStep | undefined;
}

/** A finished script never needs more; a loop of a hostile tool ends here. */
const exchangeBound = 400;

const unread = (paths: readonly string[], known: Knowledge): string =>
  paths.find((path) => !known.files.has(path)) ?? '';

function manifestOf({ known }: View): Readonly<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(known.files.get('package.json') ?? '{}');
    return typeof manifest === 'object' && manifest !== null ? { ...manifest } : {};
  } catch {
    // A manifest that is no JSON names no test script; the rules then treat the project as unknown.
    return {};
  }
}

function testScript(view: View): string {
  const scripts = manifestOf(view)['scripts'];
  const script = typeof scripts === 'object' && scripts !== null ? { ...scripts } : {};
  return 'test' in script && typeof script.test === 'string' ? script.test : '';
}

function nameList(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ').slice(0, 160);
const firstHeading = (text: string): string => oneLine(/^#*\s*(\S.*)$/m.exec(text)?.[1] ?? '');
const readmeOf = ({ known }: View): string =>
  known.listing?.find((path) => /^readme(?:\.\w+)?$/i.test(path)) ?? '';
/** What each try changed, as the model said it when it tried. */
const triedTexts = ({ exchanges }: Conversation): string[] =>
  exchanges
    .filter((exchange) => exchange.tool === 'edit_file')
    .map((exchange) => oneLine(String(exchange.input['new_text'] ?? '')).slice(0, 60));
const lastOf = (view: View) => view.conversation.exchanges.at(-1);

/** The facts by name; a script that asks for another name is refused when it is loaded. */
const factTable = {
  instruction: (view: View) => view.conversation.instruction,
  asked_command: (view: View) => /`([^`]+)`/.exec(view.conversation.instruction)?.[1] ?? '',
  tools: (view: View) => view.conversation.tools.join(' '),
  exchanges: (view: View) => view.conversation.exchanges.length,
  out_of_bounds: (view: View) => (view.conversation.exchanges.length > exchangeBound ? 'yes' : 'no'),
  last_tool: (view: View) => lastOf(view)?.tool ?? '',
  last_result: (view: View) => lastOf(view)?.result ?? '',
  last_refused: (view: View) => {
    const last = lastOf(view);
    return last !== undefined && last.isError && saysRefused(last.result) ? 'yes' : 'no';
  },
  layout: (view: View) => (view.known.listing === undefined ? 'unseen' : 'seen'),
  file_count: (view: View) => view.known.listing?.length ?? 0,
  file_names: (view: View) => nameList(view.known.listing ?? [], 8),
  manifest: (view: View) => {
    if (!(view.known.listing ?? []).includes('package.json')) return 'absent';
    return view.known.files.has('package.json') ? 'read' : 'unread';
  },
  other_manifest: (view: View) =>
    view.known.listing?.find((path) =>
      /^(?:pyproject\.toml|go\.mod|Cargo\.toml|pom\.xml|build\.gradle(?:\.kts)?|Gemfile|composer\.json|Makefile)$/.test(
        path,
      ),
    ) ?? '',
  unread_readme: (view: View) => unread([readmeOf(view)].filter(Boolean), view.known),
  readme_title: (view: View) => firstHeading(view.known.files.get(readmeOf(view)) ?? ''),
  project: (view: View) => (usesNodeRunner(testScript(view)) ? 'node-test' : 'unknown'),
  other_runner: (view: View) => otherRunner(testScript(view)),
  tests: (view: View) => {
    if (view.known.report === undefined) return 'not-run';
    if (view.report === undefined) return 'unreadable';
    if (view.report.failed > 0) return 'red';
    return view.report.passed > 0 ? 'green' : 'none';
  },
  passing: (view: View) => view.report?.passed ?? 0,
  failing: (view: View) => view.report?.failed ?? 0,
  failing_names: (view: View) =>
    nameList(view.report?.failures.map((failure) => `“${oneLine(failure.name)}”`) ?? [], 3),
  failure: (view: View) => {
    const first = view.report?.failures[0];
    if (first === undefined) return '';
    if (first.expected.length !== 1 || first.actual.length !== 1) return oneLine(first.message);
    return `expected ${JSON.stringify(first.expected[0])}, got ${JSON.stringify(first.actual[0])}`;
  },
  unread_test: (view: View) => unread(view.suspects()?.tests ?? [], view.known),
  unread_suspect: (view: View) => unread(view.suspects()?.direct ?? [], view.known),
  suspect_count: (view: View) =>
    (view.suspects()?.direct.length ?? 0) + (view.suspects()?.neighbours.length ?? 0),
  unread_neighbour: (view: View) => unread(view.suspects()?.neighbours ?? [], view.known),
  focus: (view: View) => focusCommand(testScript(view), view.suspects()?.tests ?? []),
  // Asked for only while a cut output has left failures untold.
  part_command: (view: View) =>
    view.report !== undefined && isIncomplete(view.report)
      ? nextPart(view.known, view.report, view.suspects()?.tests ?? [], (file) =>
          focusCommand(testScript(view), [file]),
        )
      : '',
  trial: (view: View) => view.known.trial?.verdict ?? 'none',
  undo: (view: View) => (view.known.trial?.undoFailed === true ? 'failed' : 'possible'),
  trial_path: (view: View) => view.known.trial?.path ?? '',
  trial_file: (view: View) => view.known.trial?.before ?? '',
  tries: (view: View) => view.known.tries,
  tried_texts: (view: View) => nameList(triedTexts(view.conversation), 6),
  repairs: (view: View) => view.known.kept.length,
  repaired_files: (view: View) => nameList([...new Set(view.known.kept.map((edit) => edit.path))], 5),
  repaired_lines: (view: View) =>
    view.known.kept
      .map((edit) => editBetween(edit.before, edit.after))
      .map((edit) => `- ${edit?.oldText.trim() ?? ''}\n+ ${edit?.newText.trim() ?? ''}`)
      .join('\n')
      .slice(0, 2000),
  next: (view: View) => view.next()?.kind ?? 'none',
  next_what: (view: View) => view.next()?.what ?? '',
  next_path: (view: View) => view.next()?.path ?? '',
  next_old: (view: View) => view.next()?.oldText ?? '',
  next_new: (view: View) => view.next()?.newText ?? '',
} as const satisfies Readonly<Record<string, (view: View) => FactValue>>;

export type FactName = keyof typeof factTable;

/** Whether a script may ask for this name. */
export function isFactName(name: string): name is FactName {
  return Object.hasOwn(factTable, name);
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Looks at a conversation; each fact is worked out when a rule first asks. */
export function lookAt(conversation: Conversation): (name: FactName) => FactValue {
  const known = gatherKnowledge(conversation);
  const report = typeof known.report === 'object' ? known.report : undefined;
  const suspects = once(() => (report === undefined ? undefined : findSuspects(report, known)));
  const next = once(() => {
    const found = suspects();
    return report === undefined || found === undefined
      ? undefined
      : findNextStep(known, report, found, conversation.exchanges.length);
  });
  const view: View = { conversation, known, report, suspects, next };
  return (name) => factTable[name](view);
}
