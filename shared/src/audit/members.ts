import type { JsonValue } from '../json.ts';
import { makeVisibleLine } from '../text/visible.ts';

/**
 * How the text of a member may look. No member is free text: what a person, a model, a program in a sandbox or a server
 * outside has worded has no place in the log. What is one of these and could still carry a word is said beside it.
 */
const formats = {
  /** A word of our own tables: kinds, states, reasons. */
  code: /^[A-Za-z0-9][A-Za-z0-9_.:/*-]{0,127}$/,
  /** Ids, keys and signatures, of ours and of calls: printable, one word. */
  id: /^[\x21-\x7e]{1,512}$/,
  /** Digests and commitments, in hex or base64; empty where there is none. */
  digest: /^[0-9A-Za-z+/=_-]{0,128}$/,
  /** Amounts, days, times, counts beyond 53 bits. */
  figure: /^[-+0-9.:TZe]{1,64}$/,
  /** Names that administrators, projects and the directory give: one line. */
  name: /^[^\p{Cc}\p{Zl}\p{Zp}]{0,256}$/u,
  /** A host that a sandbox wants to reach, as DNS has names: it chooses the letters, and a policy lets none through that it does not name. */
  host: /^(?=.{1,253}$)[A-Za-z0-9_.:[\]-]+$/,
  /** Names of files of a repository, which the log is there to tell. */
  path: /^[^\p{Cc}\p{Zl}\p{Zp}]{0,4096}$/su,
  /** Reasons of a verdict, which quote nothing (`logged-reasons.ts`) but patterns of the policy. */
  reason: /^[^\p{Cc}\p{Zl}\p{Zp}]{1,512}$/u,
} as const;
export type MemberFormat = keyof typeof formats;

const table: Readonly<Record<MemberFormat, readonly string[]>> = {
  code: [
    'act',
    'actorKind',
    'answer',
    'audience',
    'cause',
    'changed',
    'decidedBy',
    'decision',
    'execution',
    'how',
    'kind',
    'kinds',
    'origin',
    'pausedFor',
    'principalKind',
    'reason',
    'repositoryKind',
    'roles',
    'role',
    'rule',
    'runtime',
    'scopes',
    'source',
    'state',
    'status',
    'surface',
    'tool',
    'type',
    'verdict',
    'why',
  ],
  id: [
    'approval',
    'call',
    'carry',
    'child',
    'comment',
    'delivery',
    'entry',
    'environment',
    'fallbackFor',
    'hold',
    'hook',
    'key',
    'newKey',
    'newSignature',
    'notice',
    'object',
    'oldKey',
    'oldSignature',
    'parent',
    'sameResponseAs',
    'session',
    'signature',
    'through',
    'token',
    'trigger',
    'usage',
  ],
  digest: [
    'addressCommitment',
    'anchorRoot',
    'approvedDigest',
    'archiveDigest',
    'argumentsDigest',
    'baseCommit',
    'beforeDigest',
    'commitment',
    'definitionDigest',
    'filesDigest',
    'foundDigest',
    'homeDigest',
    'instructionCommitment',
    'policyDigest',
    'reasonCommitment',
    'resultDigest',
    'sessionChainDigest',
    'sha256',
    'transcriptDigest',
    'workspaceDigest',
  ],
  figure: [
    'amountUsd',
    'anchorSize',
    'costUsd',
    'differenceUsd',
    'entries',
    'expiresAt',
    'from',
    'fromDay',
    'to',
    'until',
    'usdPerSlotHour',
  ],
  name: [
    'acceptedBy',
    'account',
    'actor',
    'after',
    'agent',
    'before',
    'costCentre',
    'credential',
    'driver',
    'fromProject',
    'model',
    'name',
    'of',
    'owner',
    'person',
    'pool',
    'priceBook',
    'principal',
    'project',
    'provider',
    'rules',
    'scope',
    'service',
    'sink',
    'skill',
    'skills',
    'target',
    'told',
    'user',
  ],
  host: ['host'],
  path: ['acceptedFiles', 'files', 'flaggedFiles', 'path', 'rejectedFiles'],
  reason: ['reasons'],
};

/** The format of every member that may hold text, by its name. */
export const memberFormats: ReadonlyMap<string, MemberFormat> = new Map(
  (Object.keys(table) as MemberFormat[]).flatMap((format) =>
    table[format].map((member): [string, MemberFormat] => [member, format]),
  ),
);

/** Formats of one line that somebody else may have chosen: the log tells it, its controls made visible, and cut. */
const shown: ReadonlyMap<MemberFormat, number> = new Map([
  ['name', 256],
  ['path', 4096],
  ['reason', 512],
]);

/** What stands where a text does not have its member's form. */
export const withheld = '(withheld)';

/**
 * A member as the log may have it: text that has not the form of its member is withheld, or made one line, and so is text of
 * a member that the table does not have. Neither what somebody else has chosen nor a line that we forgot keeps an act out of
 * the log. Numbers and switches are no words.
 */
export function fitMember(member: string, value: JsonValue): JsonValue {
  if (isWordless(value)) return value;
  const format = memberFormats.get(member);
  return format === undefined ? withheld : fit(format, value);
}

function fit(format: MemberFormat, value: JsonValue): JsonValue {
  if (typeof value === 'string') {
    if (formats[format].test(value)) return value;
    const longest = shown.get(format);
    return longest === undefined ? withheld : makeVisibleLine(value).slice(0, longest).toWellFormed();
  }
  if (Array.isArray(value)) {
    const fitted = value.map((each) => fit(format, each));
    return fitted.every((each, place) => each === value[place]) ? value : fitted;
  }
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value);
  // names of settings, rules and stores: the code's own
  if (entries.some(([name]) => !formats.code.test(name))) return withheld;
  return Object.fromEntries(entries.map(([name, each]) => [name, fit(format, each)]));
}

function isWordless(value: JsonValue): boolean {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return true;
  if (typeof value === 'string') return false;
  if (Array.isArray(value)) return value.every(isWordless);
  return Object.entries(value).every(([name, each]) => formats.code.test(name) && isWordless(each));
}
