import { openNote, readNote } from './checkpoint.ts';
import type { Checkpoint, LogKey } from './checkpoint.ts';
import { sameBytes } from './digest.ts';
import { acceptRotation, agreesWithRestore, logChain, readRestore } from './log-chain.ts';
import type { LogRestore } from './log-chain.ts';
import { createTreeHasher, emptyFrontier, leafHash } from './merkle.ts';
import type { Frontier } from './merkle.ts';
import type { SinkLine } from './sink-line.ts';
import { chainFault } from './verify.ts';
import type { ChainFault, ChainFaultKind } from './verify.ts';

/** What the entries of an export are held against. */
export interface SealOptions {
  /** The log's first key, from outside. Later ones are learnt from entries that both keys have signed. */
  readonly key: LogKey;
  /** Notes of the export, in order. */
  readonly notes: readonly string[];
  /** Notes from outside (a SIEM, Object Lock): the log must still agree with them. */
  readonly anchors?: readonly string[];
  /** Where the export begins: behind an anchor whose root this frontier has. */
  readonly from?: Frontier;
}

/** Holds entries against signed checkpoints while they are walked. */
export interface SealVerifier {
  /** An entry that the log verifier has found whole, in the order of the log. */
  push(line: SinkLine): void;
  /**
   * An entry before the anchor at which the walk begins. Nothing proves it here, and nothing but what is signed in it
   * counts: which key came after which, and what a restore has lost.
   */
  learn(line: SinkLine): void;
  /** The first thing that is wrong; null where every checkpoint is signed, in its place and true. */
  finish(): ChainFault | null;
  /** Entries from 0 that a true checkpoint covers. What comes after is only chained. */
  covered(): number;
  checkpoints(): number;
  /** Restores that the log tells of, signed by its key: what was written between backup and restore is gone, by its own words. */
  restores(): readonly LogRestore[];
}

/** The name under which faults of checkpoints are told; their place is the checkpoint's number. */
export const sealName = 'checkpoint';

interface Noted {
  readonly note: string;
  readonly text: string;
  readonly checkpoint: Checkpoint;
}

interface Dispute {
  readonly number: number;
  readonly fault: ChainFault;
  /** The checkpoint that the entries disagree with; null where the fault is another one. */
  readonly noted: Noted | null;
}

/**
 * A verifier of checkpoints over the entries of an export. A checkpoint that disagrees is a fault, unless the log tells of
 * a restore that lost it, in an entry that the key of its place has signed.
 */
export function createSealVerifier(options: SealOptions): SealVerifier {
  const from = options.from ?? emptyFrontier;
  const hasher = createTreeHasher(from);
  const disputed: Dispute[] = [];
  const restores: LogRestore[] = [];
  const keys = [options.key];
  // whoever begins behind an anchor believes it, and so the restores before it
  const believedEpoch = Math.max(
    0,
    ...(options.from === undefined ? [] : (options.anchors ?? [])).map(
      (note) => readNote(note)?.checkpoint.epoch ?? 0,
    ),
  );
  let key = options.key;
  let hard: ChainFault | null = null;
  let covered = 0;
  let checked = 0;

  const dispute = (number: number, kind: ChainFaultKind, more = '', noted: Noted | null = null): void => {
    disputed.push({ number, fault: chainFault(sealName, number, kind, more), noted });
  };
  const known = arrange(options, from.size, dispute);
  const waiting = [...known];

  const check = (noted: Noted): void => {
    const { number, root, epoch, size } = noted.checkpoint;
    if (openNote(noted.note, key) === null) return dispute(number, 'checkpoint_forged', '', noted);
    const isExplained = restores.some((restore) => restore.epoch === epoch && restore.anchorNumber < number);
    if (epoch > believedEpoch && !isExplained)
      return dispute(number, 'epoch_unexplained', ` (epoch ${epoch})`, noted);
    if (!sameBytes(root, hasher.root())) return dispute(number, 'root_differs', ` (size ${size})`, noted);
    covered = size;
    checked += 1;
  };
  const checkDue = (): void => {
    for (let next = waiting[0]; next?.checkpoint.size === hasher.size(); next = waiting[0]) {
      waiting.shift();
      check(next);
    }
  };
  if (from.size === 0) checkDue();

  const isSigned = ({ note }: Noted): boolean => keys.some((one) => openNote(note, one) !== null);
  const acceptRestore = (body: unknown): void => {
    const restore = readRestore(body, key);
    if (restore === null) return;
    // what is known of the lost history must be the one that the entry cites; a note that nobody signed says nothing
    if (known.every((noted) => agreesWithRestore(restore, noted.checkpoint) || !isSigned(noted)))
      restores.push(restore);
  };
  /** Lost are checkpoints of earlier epochs behind the last one that the restored database has: that one must stand. */
  const isLost = ({ number, fault, noted }: Dispute): boolean =>
    restores.some(({ epoch, fromNumber, anchorNumber }) => {
      if (number <= fromNumber || number > anchorNumber) return false;
      return noted === null
        ? fault.fault === 'checkpoint_gap'
        : noted.checkpoint.epoch < epoch && isSigned(noted);
    });

  const hear = (line: SinkLine, isProved: boolean): void => {
    const body = line.chain === logChain ? bodyOf(line) : null;
    if (line.type === 'log.key_rotated' && body !== null) {
      const next = acceptRotation(body, key);
      if (next === null && !isProved) return;
      if (next === null) hard ??= chainFault(line.chain, line.seq, 'rotation_refused');
      else {
        key = next;
        keys.push(next);
      }
    }
    if (line.type === 'log.restored' && body !== null) acceptRestore(body);
  };
  /** Checkpoints of the very place where the walk begins are held against it when all before it has been heard. */
  let begun = from.size === 0;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    checkDue();
  };

  return {
    learn: (line) => hear(line, false),
    push: (line) => {
      begin();
      hasher.push(leafHash(Buffer.from(line.digest, 'hex')));
      hear(line, true);
      checkDue();
    },
    finish: () => {
      begin();
      if (hard !== null) return hard;
      for (const noted of waiting) {
        const { number, size } = noted.checkpoint;
        dispute(number, 'log_cut', ` (${size}, not ${hasher.size()})`, noted);
      }
      waiting.length = 0;
      const standing = disputed.filter((one) => !isLost(one));
      return standing.toSorted((one, other) => one.number - other.number)[0]?.fault ?? null;
    },
    covered: () => covered,
    checkpoints: () => checked,
    restores: () => restores,
  };
}

/** The readable checkpoints by size, each number once; what is wrong with their order is disputed. */
function arrange(
  { notes, anchors = [], key }: SealOptions,
  fromSize: number,
  dispute: (number: number, kind: ChainFaultKind, more?: string) => void,
): Noted[] {
  const known = new Map<number, Noted>();
  const accept = (note: string, place: number): Noted | null => {
    const read = readNote(note);
    if (read?.checkpoint.origin !== key.name) {
      dispute(read?.checkpoint.number ?? place, 'checkpoint_unreadable');
      return null;
    }
    return { note, text: read.text, checkpoint: read.checkpoint };
  };
  let last: Checkpoint | null = null;
  for (const [place, note] of notes.entries()) {
    const noted = accept(note, place);
    if (noted === null) continue;
    const { number, size, epoch } = noted.checkpoint;
    const before = known.get(number);
    if (before !== undefined)
      dispute(number, before.text === noted.text ? 'checkpoint_repeated' : 'split_view');
    else if (last !== null && number < last.number) dispute(number, 'checkpoint_repeated');
    else {
      // an export from 0 has them from 0; one from an anchor begins where the anchor is
      const first: number = last === null ? (fromSize === 0 ? 0 : number) : last.number + 1;
      for (let gone = first; gone < number && gone < first + 100_000; gone += 1)
        dispute(gone, 'checkpoint_gap', ` (${number} follows ${first - 1})`);
      if (last !== null && epoch === last.epoch && size < last.size) dispute(number, 'checkpoint_shrinks');
      last = noted.checkpoint;
      known.set(number, noted);
    }
  }
  for (const note of anchors) {
    const noted = accept(note, 0);
    if (noted === null) continue;
    const before = known.get(noted.checkpoint.number);
    if (before === undefined) known.set(noted.checkpoint.number, noted);
    // the anchor is believed, so the export's own is the one that is wrong
    else if (before.text !== noted.text) dispute(noted.checkpoint.number, 'split_view');
    else known.set(noted.checkpoint.number, noted);
  }
  const inOrder = [...known.values()].filter(({ checkpoint }) => checkpoint.size >= fromSize);
  return inOrder.toSorted(
    (one, other) =>
      one.checkpoint.size - other.checkpoint.size || one.checkpoint.number - other.checkpoint.number,
  );
}

function bodyOf({ body }: SinkLine): unknown {
  const envelope = JSON.parse(Buffer.from(body, 'base64').toString()) as { body?: unknown };
  return envelope.body ?? null;
}
