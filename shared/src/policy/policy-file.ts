import { isMap, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import type { z } from 'zod';
import { CodedError } from '../errors/coded-error.ts';
import { boundSettings } from './policy-parts.ts';
import type { usualBounds } from './policy-parts.ts';
import { policySchema } from './policy.ts';
import type { Policy } from './policy.ts';

/** One fault of a policy text: where, and what to do. Lines and columns count from 1. */
export interface PolicyFault {
  readonly line: number;
  readonly column: number;
  /** Member path as in `budgets.maxActions`; empty for the whole text. */
  readonly path: string;
  readonly message: string;
}

/** Longest policy text that is read, in UTF-16 units. */
export const maxPolicyLength = 512 * 1024;

/**
 * Reads a policy from YAML (JSON is YAML). Duplicate, unknown and unreadable members are refused, each with its
 * line; an empty text is the default policy.
 * @throws CodedError `request_invalid` whose details list every fault
 */
export function readPolicy(text: string, bounds: BudgetDefaults = {}): Policy {
  const { policy, faults } = checkPolicy(text, bounds);
  if (policy !== undefined) return policy;
  const told = faults.map(showFault);
  throw new CodedError(
    'request_invalid',
    `The policy cannot be used. ${told.join('; ')}. Correct these lines; nothing of it is in force.`,
    { faults: told },
  );
}

/** Reads a policy and lists its faults instead of throwing. Either the policy or at least one fault is there. */
export function checkPolicy(
  text: string,
  bounds: BudgetDefaults = {},
): { policy?: Policy; faults: PolicyFault[] } {
  if (text.length > maxPolicyLength)
    return {
      faults: [{ line: 1, column: 1, path: '', message: `longer than ${maxPolicyLength} characters` }],
    };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
  if (document.errors.length > 0)
    return {
      faults: document.errors.map((error) => ({
        ...place(lines, error.pos[0]),
        path: '',
        message: error.message,
      })),
    };
  const alias = aliasIn(document);
  if (alias !== undefined)
    return { faults: [{ ...place(lines, alias), path: '', message: 'aliases are not read; write it out' }] };
  const hidden = prototypeIn(document);
  if (hidden !== undefined)
    return {
      faults: [{ ...place(lines, hidden), path: prototypeName, message: 'no such member; remove it' }],
    };
  const written: unknown = document.toJS({ maxAliasCount: 0 }) ?? {};
  const twice = boundsGivenTwice(written);
  if (twice !== undefined)
    return {
      faults: [
        {
          ...place(lines, offsetOf(document, [twice], 'name')),
          path: twice,
          message: `budgets.${boundSettings[twice]} says the same; write one of them`,
        },
      ],
    };
  const parsed = policySchema.safeParse(withBounds(written, bounds));
  if (parsed.success) return { policy: parsed.data, faults: [] };
  const faults = parsed.error.issues.flatMap(toldOf).map(({ path, message, of }): PolicyFault => ({
    ...place(lines, offsetOf(document, path, of)),
    path: path.map(String).join('.'),
    message,
  }));
  return { faults };
}

interface Told {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Whether the member's name is at fault or what stands behind it, perhaps on another line. */
  readonly of: 'name' | 'value';
}

function toldOf(issue: z.core.$ZodIssue): Told[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: 'no such member; members are spelt exactly as documented',
      of: 'name',
    }));
  if (issue.code !== 'invalid_key') return [{ path, message: issue.message, of: 'value' }];
  return [{ path, message: issue.issues[0]?.message ?? issue.message, of: 'name' }];
}

/** Where the first alias stands: aliases can blow a small text up, and a policy has no use for them. */
function aliasIn(document: Document.Parsed): number | undefined {
  let found: number | undefined;
  visit(document, {
    Alias: (_key, node) => {
      found = node.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

const prototypeName = '__proto__';

/** Where a member stands whose name a record cannot hold: it would vanish before the schema could refuse it. */
function prototypeIn(document: Document.Parsed): number | undefined {
  let found: number | undefined;
  visit(document, {
    Pair: (_key, { key }) => {
      if (!isScalar(key) || key.value !== prototypeName) return undefined;
      found = key.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

/** Defaults of the fleet's own, for the bounds that a policy does not write. */
export type BudgetDefaults = Readonly<
  Partial<
    Record<
      | (typeof boundSettings)[BoundSetting]
      | (typeof commandBounds)[number]
      | Exclude<keyof typeof usualBounds, 'maxCostUsd'>,
      number
    > & { maxCostUsd: string }
  >
>;

/** Bounds of a single command; they stand beside the budgets in a policy, not in them. */
const commandBounds = ['commandMaxSeconds', 'commandMaxOutputBytes'] as const;

type BoundSetting = keyof typeof boundSettings;
const settingNames = Object.keys(boundSettings) as BoundSetting[];

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function boundsGivenTwice(written: unknown): BoundSetting | undefined {
  if (!isRecord(written) || !isRecord(written['budgets'])) return undefined;
  const { budgets } = written;
  return settingNames.find(
    (name) => Object.hasOwn(written, name) && Object.hasOwn(budgets, boundSettings[name]),
  );
}

/** What is no policy at all stays as it is: the schema says what is wrong with it. */
function withBounds(written: unknown, bounds: BudgetDefaults): unknown {
  if (!isRecord(written) || !(written['budgets'] === undefined || isRecord(written['budgets'])))
    return written;
  const { commandMaxSeconds, commandMaxOutputBytes, ...budgets } = bounds;
  const commands = Object.entries({ commandMaxSeconds, commandMaxOutputBytes });
  return {
    ...Object.fromEntries(commands.filter(([, value]) => value !== undefined)),
    ...written,
    budgets: { ...budgets, ...written['budgets'] },
  };
}

/** A fault for a reader: `line 3, budgets.maxActions: …`. */
export function showFault(fault: PolicyFault): string {
  return `line ${fault.line}${fault.path === '' ? '' : `, ${fault.path}`}: ${fault.message}`;
}

function place(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Where the innermost member of the path that the text holds begins. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[], of: Told['of']): number {
  const name = of === 'name' ? rangeOf(nameNode(document, path)) : undefined;
  if (name !== undefined) return name;
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    const range = rangeOf(node);
    if (range !== undefined) return range;
  }
  return 0;
}

/** The name of a member as it is written. */
function nameNode(document: Document.Parsed, path: readonly PropertyKey[]): unknown {
  const holder = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(holder)) return undefined;
  return holder.items.find(({ key }) => isScalar(key) && String(key.value) === String(path.at(-1)))?.key;
}

function rangeOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range))
    return undefined;
  const [start] = node.range as unknown[];
  return typeof start === 'number' ? start : undefined;
}
