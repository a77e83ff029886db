import type { Writable } from 'node:stream';
import { readCanonical } from '@lemniscate/shared/audit/canonical.ts';
import { citationOf } from '@lemniscate/shared/audit/citation.ts';
import type { Citation } from '@lemniscate/shared/audit/citation.ts';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { chainsPageSchema, entriesPageSchema, fromStored } from '@lemniscate/shared/audit/stored-entry.ts';
import type { ChainsPage, EntriesPage, StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { chainFault, createChainVerifier } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault, ExpectedEnd } from '@lemniscate/shared/audit/verify.ts';
import { describeSeal, readAnchor, readLogKey } from './audit-checkpoints.ts';
import type { SealResult } from './audit-checkpoints.ts';
import { openEvidence, recordAnswers, writeEvidence } from './audit-evidence.ts';
import { createActingPeople, describePeople } from './audit-people.ts';
import type { ActingPeople, ActingPerson } from './audit-people.ts';
import { proveOnline } from './audit-proofs.ts';
import type { ProvedEntry } from './audit-proofs.ts';
import { describeSession } from './audit-session-extent.ts';
import type { SessionExtent } from './audit-session-extent.ts';
import { verifyExport, walkFile } from './audit-verify-export.ts';
import type { ExportOptions } from './audit-verify-export.ts';
import type { ChainEnd } from '@lemniscate/shared/audit/verify-log.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisibleLine, visibleJson } from '@lemniscate/shared/text/visible.ts';
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
  /** What an export has of the session that was asked for. */
  readonly session?: SessionExtent;
  /** People who acted in it, with the directory's identity beside the pseudonym that was proved. */
  readonly people: readonly ActingPerson[];
}

interface Options extends ExportOptions {
  readonly file?: string;
  readonly anchor?: string;
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
  … --session s_…                                and what the export has of one session
  lemniscate audit verify --file s_….evidence --key KEY
                                                 what "lemniscate audit evidence" wrote of one session, without the fleet
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
      tell(io, result, options);
    });
  audit
    .command('evidence')
    .description(
      'Verifies a session and writes what it takes to do so without the fleet: entries, checkpoint, proofs.',
    )
    .requiredOption('--session <id>', 'the session')
    .requiredOption('--key <key>', 'the log’s public key, or a file with it')
    .requiredOption('--out <path>', 'a new file')
    .option('--from <path>', 'a checkpoint from outside, from which the log is proved to have only grown')
    .option('--json', 'one JSON object')
    .action(
      async (options: Required<Pick<Options, 'session' | 'key'>> & Options & { readonly out: string }) => {
        const recorded = recordAnswers(io, options.session);
        const result = await verifySession(recorded.answers, options.session, new Map(), options);
        await writeEvidence(options.out, recorded.text());
        tell(io, result, options);
      },
    );
}

async function verifyAudit(options: Options, io: AuditVerifyIo): Promise<AuditVerification> {
  if (options.key === undefined && (options.from !== undefined || options.checkpoints !== undefined))
    throw new CodedError(
      'request_invalid',
      '--from and --checkpoints want the log’s public key: give --key, from the machine that signs (KEY.pub).',
    );
  if (options.file !== undefined && options.anchor !== undefined)
    throw new CodedError('request_invalid', '--file works without the fleet; leave out --anchor.');
  if (options.file !== undefined) {
    const evidence = await openEvidence(options.file);
    if (evidence === null) return verifyExport(options.file, options);
    const { session = evidence.session } = options;
    if (session !== evidence.session)
      throw new CodedError(
        'request_invalid',
        `This evidence is of session ${evidence.session}, not of ${session}.`,
      );
    return verifySession(evidence.answers, session, new Map(), options);
  }
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
  return verifySession(io, options.session, ends, options);
}

/** One session, as the fleet answers or has answered. */
async function verifySession(
  io: Pick<AuditVerifyIo, 'fetchJson'>,
  session: string,
  ends: ReadonlyMap<string, ChainEnd>,
  options: Options,
): Promise<AuditVerification> {
  const chain = sessionChain(session);
  const people = createActingPeople();
  const walked = await walkChain(io, chain, ends.get(chain), {}, people);
  const result = gather([walked], people);
  const entry = { chain, seq: walked.entries, digest: walked.digest, at: walked.at };
  return options.key === undefined || !result.verified ? result : proveSession(io, entry, result, options);
}

/** The session's last entry is in the signed log, and that log begins with the one that an anchor stands for. */
async function proveSession(
  io: Pick<AuditVerifyIo, 'fetchJson'>,
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

function tell(io: AuditVerifyIo, result: AuditVerification, { json }: Pick<Options, 'json'>): void {
  io.stdout.write(json === true ? `${visibleJson(result)}\n` : describe(result));
  io.setExitCode(result.verified ? 0 : 1);
}

function describe(result: AuditVerification): string {
  const broken = result.faults.map(({ message }) => `BROKEN ${makeVisibleLine(message)}\n`).join('');
  const extent = `${result.entries} entries in ${result.chains} ${result.chains === 1 ? 'chain' : 'chains'}`;
  const seal = describeSeal(result.sealed);
  return result.verified
    ? `verified: ${extent}\n${describeSession(result.session)}${describePeople(result.people)}${seal}`
    : `${broken}not verified: ${extent} are whole\n`;
}
