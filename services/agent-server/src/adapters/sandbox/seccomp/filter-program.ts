import { allowedSyscalls, argumentRules, refusedSyscalls } from './syscall-rules.ts';
import type { ArgumentRule } from './syscall-rules.ts';
import { syscallNumbers } from './syscall-numbers.ts';
import type { SyscallName } from './syscall-numbers.ts';

/** The architectures that we write filters for, by `process.arch`. */
export type FilterArchitecture = 'x64' | 'arm64';

/** AUDIT_ARCH_* of linux/audit.h, and the column in the number table. */
const architectures = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const;

/** x32 calls carry this bit on x86_64; every other table would miss them. */
const x32Bit = 0x40000000;

const errno = { EPERM: 1, ENOSYS: 38 } as const;
const verdicts = {
  allow: 0x7fff0000,
  refuse: 0x00050000 | errno.EPERM,
  unknown: 0x00050000 | errno.ENOSYS,
  kill: 0x80000000,
} as const;

/** struct seccomp_data: nr at 0, arch at 4, instruction pointer at 8, arguments from 16, little endian. */
const offsets = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const;

/** Classic BPF: one instruction is { code u16, jt u8, jf u8, k u32 }. */
interface Instruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}
const load = (k: number): Instruction => ({ code: 0x20, jt: 0, jf: 0, k });
const and = (k: number): Instruction => ({ code: 0x54, jt: 0, jf: 0, k });
const ret = (k: number): Instruction => ({ code: 0x06, jt: 0, jf: 0, k });
const jumpIfEqual = (k: number, jt: number, jf: number): Instruction => ({ code: 0x15, jt, jf, k });
const jumpIfGreater = (k: number, jt: number, jf: number): Instruction => ({ code: 0x25, jt, jf, k });
const jumpIfAtLeast = (k: number, jt: number, jf: number): Instruction => ({ code: 0x35, jt, jf, k });

function numberOf(name: SyscallName, column: 0 | 1): number | null {
  return syscallNumbers[name][column];
}

/** Judges one call by one argument; falls through when the number is another. */
function argumentBlock(rule: ArgumentRule, number: number): Instruction[] {
  const [hit, miss] =
    rule.match === 'allow' ? (['allow', 'refuse'] as const) : (['refuse', 'allow'] as const);
  const tests = rule.values.map((value, index) => jumpIfEqual(value, rule.values.length - index, 0));
  const body = [
    load(offsets.argument(rule.argument)),
    and(rule.mask),
    ...tests,
    ret(verdicts[miss]),
    ret(verdicts[hit]),
  ];
  return [jumpIfEqual(number, 0, body.length), ...body];
}

/** Contiguous numbers with one verdict become one pair of instructions: about 100 pairs instead of 330. */
function segments(column: 0 | 1): { last: number; verdict: number }[] {
  const byNumber = new Map<number, number>();
  const enter = (names: readonly SyscallName[], verdict: number): void => {
    for (const name of names) {
      const number = numberOf(name, column);
      if (number !== null) byNumber.set(number, verdict);
    }
  };
  enter(allowedSyscalls, verdicts.allow);
  enter(refusedSyscalls, verdicts.refuse);
  const highest = Math.max(...byNumber.keys());
  const rows: { last: number; verdict: number }[] = [];
  for (let number = 0; number <= highest; number += 1) {
    const verdict = byNumber.get(number) ?? verdicts.unknown;
    const row = rows.at(-1);
    if (row?.verdict === verdict) row.last = number;
    else rows.push({ last: number, verdict });
  }
  return rows;
}

function instructions(architecture: FilterArchitecture): Instruction[] {
  const { audit, column } = architectures[architecture];
  const blocks = argumentRules.flatMap((rule) => {
    const number = numberOf(rule.syscall, column);
    return number === null ? [] : argumentBlock(rule, number);
  });
  return [
    load(offsets.architecture),
    jumpIfEqual(audit, 1, 0),
    ret(verdicts.kill),
    load(offsets.number),
    ...(architecture === 'x64' ? [jumpIfAtLeast(x32Bit, 0, 1), ret(verdicts.unknown)] : []),
    ...blocks,
    ...segments(column).flatMap(({ last, verdict }) => [jumpIfGreater(last, 1, 0), ret(verdict)]),
    ret(verdicts.unknown),
  ];
}

/**
 * The seccomp filter as the bytes that `bwrap --seccomp` loads (an array of struct sock_filter).
 * @throws RangeError past the kernel's bound of 4,096 instructions
 */
export function filterProgram(architecture: FilterArchitecture): Buffer {
  const list = instructions(architecture);
  if (list.length > 4096) throw new RangeError(`a filter of ${list.length} instructions is past 4096`);
  const bytes = Buffer.alloc(list.length * 8);
  for (const [index, { code, jt, jf, k }] of list.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  }
  return bytes;
}
