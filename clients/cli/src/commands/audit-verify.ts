import type { Writable } from 'node:stream';
import { readCanonical } from '@lemniscate/shared/audit/canonical.ts';
import { citationOf } from '@lemniscate/shared/audit/citation.ts';
import type { Citation } from '@lemniscate/shared/audit/citation.ts';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { logChain } from '@lemniscate/shared/audit/log-chain.ts';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import type { SinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { chainsPageSchema, entriesPageSchema, fromStored } from '@lemniscate/shared/audit/stored-entry.ts';
import type { ChainsPage, EntriesPage, StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { chainFault, createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault, ExpectedEnd } from '@lemniscate/shared/audit/verify.ts';
import { createSealVerifier, sealName } from '@lemniscate/shared/audit/verify-seal.ts';
import { describeSeal, readAnchor, readLogKey, readNotes } from './audit-checkpoints.ts';
import type { Anchor, SealResult } from './audit-checkpoints.ts';
import { indexOf, openExport } from './audit-export.ts';
import { createActingPeople, describePeople } from './audit-people.ts';
import type { ActingPeople, ActingPerson } from './audit-people.ts';
import { proveOnline } from './audit-proofs.ts';
import type { ProvedEntry } from './audit-proofs.ts';
import { createLogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import type { ChainEnd, LogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { z } from 'zod';

/** What the command touches of its process and of the fleet. */
export interface AuditVerifyIo {
  readonly stdout: Writable;
  setExitCode(code: number): void;
  /** One answer of the public API, its shape checked. @throws CodedError from the problem document */
  fetchJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.infer<Schema>>;
}

/** What a walk over the log found; printed by `--json`. */
export interface AuditVerification {
  readonly verified: boolean;
  /** Entries found whole. */
  readonly entries: number;
  readonly chains: number;
  /** The first broken entry of each broken chain, in the order of the walk. */
  readonly faults: readonly ChainFault[];
  /** What signed checkpoints say of the entries; absent where no public key was given. */
  readonly sealed?: SealResult;
  /** People who acted in it, with the directory's identity beside the pseudonym that was proved. */
  readonly people: readonly ActingPerson[];
}

interface Options {
  readonly session?: string;
  readonly file?: string;
  readonly anchor?: string;
  readonly key?: string;
  readonly checkpoints?: string;
  readonly from?: string;
  readonly json?: boolean;
}

const help = `
Recomputes every digest in this process from the stored bytes; believes nothing that the fleet says about itself.
Exit code 0: whole. 1: broken, with the first broken entry of each chain.

  lemniscate audit verify                        every chain, over the API
  lemniscate audit verify --session s_…          one session
  lemniscate audit verify --file audit.ndjson    a sink's file, without the fleet
  lemniscate audit verify --file audit.ndjson --key log-key.pem.pub
                                                 and the signed checkpoints beside it (audit.ndjson.checkpoints)
  lemniscate audit verify --file FOLDER --key log-key.pem.pub
                                                 a copy of what the S3 sink wrote: segments, checkpoints, manifests
  … --from ANCHOR                                and held against a checkpoint from elsewhere (a SIEM, Object Lock); a line
                                                 of a .checkpoints file has what it takes to walk only what is behind it
  lemniscate audit verify --session s_… --key KEY
                                                 and the proof that its last entry is in the signed log
  lemniscate audit verify --anchor audit.ndjson  every chain, held against what the file already has: finds a log
                                                 that was rebuilt, set back, or lost whole sessions
`;

/** `lemniscate audit verify`. */
export function registerAuditVerify(program: Command, io: AuditVerifyIo): void {
  const audit = program.commands.find((command) => command.name() === 'audit') ?? program.command('audit');
  audit
    .description('The audit log.')
    .command('verify')
    .description('Walks the audit log and names the first broken entry.')
    .option('--session <id>', 'only this session’s chain')
    .option('--file <path>', 'a file that the exporter wrote, or a copy of its bucket, instead of the API')
    .option('--anchor <path>', 'a file that the exporter wrote, to hold the API’s log against')
    .option('--key <key>', 'the log’s public key, or a file with it; with --file or --session')
    .option('--checkpoints <path>', 'the signed checkpoints; default: FILE.checkpoints')
    .option('--from <path>', 'a checkpoint from outside, to hold the file against and to start from')
    .option('--json', 'one JSON object')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const result = await verifyAudit(options, io);
      io.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : describe(result));
      io.setExitCode(result.verified ? 0 : 1);
    });
}

async function verifyAudit(options: Options, io: AuditVerifyIo): Promise<AuditVerification> {
  if (options.key === undefined && (options.from !== undefined || options.checkpoints !== undefined))
    throw new CodedError(
      'request_invalid',
      '--from and --checkpoints want the log’s public key: give --key, from the machine that signs (KEY.pub).',
    );
  if (options.file !== undefined && (options.session !== undefined || options.anchor !== undefined))
    throw new CodedError(
      'request_invalid',
      '--file works without the fleet; leave out --session and --anchor.',
    );
  if (options.file !== undefined && options.key !== undefined) return verifySealed(options.file, options);
  if (options.file !== undefined) return (await walkFile(options.file)).result;
  const anchors = options.anchor === undefined ? null : await walkFile(options.anchor);
  // an anchor that is broken itself proves nothing
  if (anchors !== null && !anchors.result.verified) return anchors.result;
  const ends = anchors?.ends ?? new Map<string, ChainEnd>();
  if (options.key !== undefined && options.session === undefined)
    throw new CodedError(
      'request_invalid',
      'Give --key with --file for the whole log, or with --session for one.',
    );
  if (options.session === undefined) return walkAll(io, ends);
  const chain = sessionChain(options.session);
  const people = createActingPeople();
  const walked = await walkChain(io, chain, ends.get(chain), {}, people);
  const result = gather([walked], people);
  const entry = { chain, seq: walked.entries, digest: walked.digest, at: walked.at };
  return options.key === undefined || !result.verified ? result : proveSession(io, entry, result, options);
}

/** The session's last entry is in the signed log, and that log begins with the one that an anchor stands for. */
async function proveSession(
  io: AuditVerifyIo,
  entry: ProvedEntry,
  result: AuditVerification,
  options: Options,
): Promise<AuditVerification> {
  const key = await readLogKey(options.key ?? '');
  const anchor = options.from === undefined ? null : (await readAnchor(options.from)).note;
  const { fault, covered, restores } = await proveOnline(io, key, entry, anchor);
  const sealed = { covered, checkpoints: 1, restores };
  return fault === null ? { ...result, sealed } : { ...result, verified: false, faults: [fault], sealed };
}

/** Review entries that cite another end of their session than the walk has found. */
function citationFaults(walked: readonly Walked[]): ChainFault[] {
  const ends = new Map(walked.map(({ chain, digest }) => [chain, toHex(digest)]));
  return walked.flatMap(({ chain, citations }) =>
    citations
      .filter(({ cited }) => ends.get(cited.chain) !== cited.digest)
      .map(({ seq }) => chainFault(chain, seq, 'citation_wrong')),
  );
}

/** What a walk over one chain found. */
export interface Walked {
  readonly chain: string;
  readonly entries: number;
  readonly fault: ChainFault | null;
  /** Of the last whole entry, as it was recomputed here. */
  readonly digest: Uint8Array;
  /** Of the last entry; empty where there is none. */
  readonly at: string;
  /** Ends of sessions that its entries cite. */
  readonly citations: readonly { readonly seq: number; readonly cited: Citation }[];
}

async function walkAll(
  io: AuditVerifyIo,
  anchors: ReadonlyMap<string, ChainEnd>,
): Promise<AuditVerification> {
  const walked: Walked[] = [];
  const people = createActingPeople();
  const missing = new Set(anchors.keys());
  let after: string | null = '';
  while (after !== null) {
    const path = `/v1/audit/chains?after=${encodeURIComponent(after)}&limit=1000`;
    const page: ChainsPage = await io.fetchJson(path, chainsPageSchema);
    for (const { chain } of page.chains) {
      missing.delete(chain);
      walked.push(await walkChain(io, chain, anchors.get(chain), {}, people));
    }
    after = page.nextAfter;
  }
  for (const chain of missing) walked.push(missingChain(chain));
  return gather(walked, people, citationFaults(walked));
}

/**
 * Walks one chain over the API; held against an anchor where there is one, and against what the
 * chain's row says. `must.closed`: its session has ended, so an open end is a fault.
 */
export async function walkChain(
  io: Pick<AuditVerifyIo, 'fetchJson'>,
  chain: string,
  anchor?: ChainEnd,
  must: Pick<ExpectedEnd, 'closed'> = {},
  people: ActingPeople = createActingPeople(),
): Promise<Walked> {
  const verifier = createChainVerifier(chain, anchor === undefined ? {} : { head: headOf(anchor) });
  const citations: { seq: number; cited: Citation }[] = [];
  let expected: ExpectedEnd = {};
  let at = '';
  let after: number | null = 0;
  while (after !== null) {
    const path: string = `/v1/audit/chains/${encodeURIComponent(chain)}/entries?after=${after}&limit=1000`;
    const page: EntriesPage | null = await io.fetchJson(path, entriesPageSchema).catch((error: unknown) => {
      if (anchor !== undefined && isCodedError(error, 'not_found')) return null;
      throw error;
    });
    if (page === null) return missingChain(chain);
    const broken = page.entries
      .map((entry) => verifier.push(fromStored(entry)))
      .some((fault) => fault !== null);
    page.entries.forEach(people.saw);
    people.named(page.people);
    at = page.entries.at(-1)?.at ?? at;
    citations.push(...page.entries.flatMap(citedBy));
    expected = { head: headOf(page.head), closed: page.head.closed || must.closed === true };
    after = broken ? null : page.nextAfter;
  }
  // first against the anchor, then against what the chain's own row says
  return {
    chain,
    fault: verifier.finish() ?? verifier.finish(expected),
    entries: verifier.count(),
    digest: verifier.digest(),
    at,
    citations,
  };
}

function citedBy({ chain, seq, body }: StoredEntry): { seq: number; cited: Citation }[] {
  // most entries belong to sessions and cite nothing
  if (!chain.startsWith('review:')) return [];
  const cited = citationOf(chain, readCanonical(Buffer.from(body, 'base64'))?.value ?? null);
  return cited === null ? [] : [{ seq, cited }];
}

const missingChain = (chain: string): Walked => ({
  chain,
  entries: 0,
  fault: chainFault(chain, 1, 'missing_chain'),
  digest: new Uint8Array(),
  at: '',
  citations: [],
});

const headOf = ({ seq, digest }: ChainEnd): NonNullable<ExpectedEnd['head']> => ({
  seq,
  digest: Buffer.from(digest, 'hex'),
});

function gather(
  walked: readonly Walked[],
  people: ActingPeople,
  more: readonly ChainFault[] = [],
): AuditVerification {
  const faults = [...walked.flatMap(({ fault }) => fault ?? []), ...more];
  const entries = walked.reduce((sum, { entries }) => sum + entries, 0);
  return { verified: faults.length === 0, entries, chains: walked.length, faults, people: people.list() };
}

/**
 * Walks a sink's file. A last line without its line feed is an export in progress and is not looked at.
 * @throws CodedError `not_found`
 */
async function walkFile(
  path: string,
  from = 0,
  accepted: (line: SinkLine) => void = () => undefined,
  skipped: (line: SinkLine) => void = () => undefined,
): Promise<{ result: AuditVerification; ends: ReturnType<LogVerifier['ends']> }> {
  const verifier = createLogVerifier(from);
  const people = createActingPeople();
  const copy = await openExport(path);
  people.named(await copy.people());
  let fault = await copy.check();
  let number = 0;
  let reached = 0;
  for await (const line of copy.lines()) {
    if (fault !== null) break;
    number += 1;
    if (from > 0 && indexOf(line) < from) {
      reached = indexOf(line) + 1;
      // the rest need not be parsed: only the log's word of itself says which keys and epochs the anchor's place has
      const own = line.includes(ownChain) ? parseLine(line) : null;
      if (own?.chain === logChain) skipped(own);
      continue;
    }
    const parsed = parseLine(line);
    // such a line names no chain, so the file and the line's number stand in
    fault = parsed === null ? chainFault(path, number, 'unreadable') : verifier.push(parsed);
    if (fault !== null) break;
    if (parsed === null) continue;
    people.saw(parsed);
    accepted(parsed);
  }
  // what the anchor proves must be there before what comes behind it counts
  if (fault === null && verifier.entries() === 0 && reached < from)
    fault = chainFault(path, number, 'log_cut', ` (${reached} entries, not ${from})`);
  const ends = verifier.ends();
  const faults = fault === null ? [] : [fault];
  return {
    result: {
      verified: fault === null,
      entries: verifier.entries(),
      chains: ends.size,
      faults,
      people: people.list(),
    },
    ends,
  };
}

function parseLine(line: string): SinkLine | null {
  try {
    const parsed = sinkLineSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    // no JSON: the caller names file and line
    return null;
  }
}

const ownChain = `"chain":"${logChain}"`;

/** A file's entries, held against its signed checkpoints and one from outside. */
async function verifySealed(path: string, options: Options): Promise<AuditVerification> {
  const anchor = options.from === undefined ? null : await readAnchor(options.from);
  const result = await walkSealed(path, options, anchor);
  if (result.verified || anchor?.frontier === undefined) return result;
  // an anchor of a history that a restore has lost is no place to begin at: the whole log says whether it is excused
  const whole = await walkSealed(path, options, { note: anchor.note, number: anchor.number });
  return whole.verified ? whole : result;
}

async function walkSealed(path: string, options: Options, anchor: Anchor | null): Promise<AuditVerification> {
  const key = await readLogKey(options.key ?? '');
  const first = anchor?.frontier === undefined ? 0 : anchor.number;
  const notes =
    options.checkpoints === undefined
      ? await (await openExport(path)).notes(first)
      : await readNotes(options.checkpoints, first);
  const seals = createSealVerifier({
    key,
    notes,
    anchors: anchor === null ? [] : [anchor.note],
    ...(anchor?.frontier === undefined ? {} : { from: anchor.frontier }),
  });
  const { result } = await walkFile(path, anchor?.frontier?.size ?? 0, seals.push, seals.learn);
  const disagreement = result.verified ? seals.finish() : null;
  // chains alone can be computed anew by anybody: without a checkpoint they prove nothing
  const isUnsealed =
    (result.entries > 0 && (notes.length === 0 || seals.covered() === 0)) ||
    // what lies before an anchor is not walked: an export that has neither it nor a later one may be another log
    (first > 0 && notes.length === 0);
  const fault =
    disagreement ?? (result.verified && isUnsealed ? chainFault(sealName, first, 'unsealed') : null);
  const sealed = { covered: seals.covered(), checkpoints: seals.checkpoints(), restores: seals.restores() };
  if (fault === null) return { ...result, sealed };
  return { ...result, verified: false, faults: [fault], sealed };
}

function describe(result: AuditVerification): string {
  const broken = result.faults.map(({ message }) => `BROKEN ${makeVisibleLine(message)}\n`).join('');
  const extent = `${result.entries} entries in ${result.chains} ${result.chains === 1 ? 'chain' : 'chains'}`;
  const seal = describeSeal(result.sealed);
  return result.verified
    ? `verified: ${extent}\n${describePeople(result.people)}${seal}`
    : `${broken}not verified: ${extent} are whole\n`;
}
