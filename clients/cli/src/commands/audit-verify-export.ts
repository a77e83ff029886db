import { logChain } from '@lemniscate/shared/audit/log-chain.ts';
import { sinkLineSchema } from '@lemniscate/shared/audit/sink-line.ts';
import type { SinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { createLogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import type { LogVerifier } from '@lemniscate/shared/audit/verify-log.ts';
import { chainFault } from '@lemniscate/shared/audit/verify.ts';
import { createSealVerifier, sealName } from '@lemniscate/shared/audit/verify-seal.ts';
import { readAnchor, readLogKey, readNotes } from './audit-checkpoints.ts';
import type { Anchor } from './audit-checkpoints.ts';
import { indexOf, openExport } from './audit-export.ts';
import { createActingPeople } from './audit-people.ts';
import { searchSession } from './audit-session-extent.ts';
import type { SessionSearch } from './audit-session-extent.ts';
import type { AuditVerification } from './audit-verify.ts';

/** What an export is held against. */
export interface ExportOptions {
  /** The log's public key, or a file with it; absent: links and digests alone. */
  readonly key?: string;
  readonly checkpoints?: string;
  /** A file with a checkpoint from outside. */
  readonly from?: string;
  /** The session to tell of. */
  readonly session?: string;
}

/**
 * Walks a sink's file. A last line without its line feed is an export in progress and is not looked at.
 * @throws CodedError `not_found`
 */
export async function walkFile(
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

/** A file's entries, held against its signed checkpoints and one from outside where there is a key. */
export async function verifyExport(path: string, options: ExportOptions): Promise<AuditVerification> {
  const walk = async (work: (search: SessionSearch | null) => Promise<AuditVerification>) => {
    const search = options.session === undefined ? null : searchSession(options.session);
    const result = await work(search);
    return search === null ? result : search.tell(result);
  };
  if (options.key === undefined)
    return walk(async (search) => (await walkFile(path, 0, (line) => search?.saw(line))).result);
  const anchor = options.from === undefined ? null : await readAnchor(options.from);
  const result = await walk((search) => walkSealed(path, options, anchor, search));
  if (result.verified || anchor?.frontier === undefined) return result;
  // an anchor of a history that a restore has lost is no place to begin at: the whole log says whether it is excused;
  // and a session may lie before the anchor
  const bare = { note: anchor.note, number: anchor.number };
  const whole = await walk((search) => walkSealed(path, options, bare, search));
  return whole.verified ? whole : result;
}

async function walkSealed(
  path: string,
  options: ExportOptions,
  anchor: Anchor | null,
  search: SessionSearch | null,
): Promise<AuditVerification> {
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
  const accepted = (line: SinkLine): void => {
    seals.push(line);
    search?.saw(line);
  };
  const { result } = await walkFile(path, anchor?.frontier?.size ?? 0, accepted, seals.learn);
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
