import { allowedSyscalls, argumentRules, refusedSyscalls } from './syscall-rules.ts';
import type { ArgumentRule } from './syscall-rules.ts';

/** One rule of the engine's seccomp document (OCI names, docker's field spelling). */
interface ProfileRule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly MaskedArgument[];
}

interface MaskedArgument {
  readonly index: number;
  readonly op: 'SCMP_CMP_MASKED_EQ';
  /** The mask, … */
  readonly value: number;
  /** … and what the masked argument must be. */
  readonly valueTwo: number;
}

const eperm = 1;
const enosys = 38;

/**
 * Every 32-bit value but the excluded ones, as masked comparisons: those that first differ at each bit. "Not
 * equal" would compare 64 bits, and a caller could set the upper ones, which the kernel ignores.
 */
function allBut(excluded: readonly number[], bit = 31, prefix = 0): { mask: number; value: number }[] {
  const mask = bit === 31 ? 0 : (0xffffffff << (bit + 1)) >>> 0;
  const inside = excluded.filter((value) => (value & mask) >>> 0 === prefix);
  if (inside.length === 0) return [{ mask, value: prefix }];
  if (bit < 0) return [];
  return [0, 1].flatMap((side) => allBut(inside, bit - 1, (prefix | (side << bit)) >>> 0));
}

function argumentRulesOf(rule: ArgumentRule): ProfileRule[] {
  const accepted =
    rule.match === 'allow' ? rule.values.map((value) => ({ mask: rule.mask, value })) : allBut(rule.values);
  return accepted.map(({ mask, value }) => ({
    names: [rule.syscall],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: rule.argument, op: 'SCMP_CMP_MASKED_EQ', value: mask, valueTwo: value }],
  }));
}

/**
 * The same filter as a container engine takes it (`seccomp=JSON`). Engines before 23 do not know
 * `defaultErrnoRet` and answer unknown calls with EPERM; clone3 is named, because libraries fall back to clone
 * on ENOSYS alone.
 */
export function dockerSeccompProfile(): string {
  const architecture = process.arch === 'arm64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64';
  const syscalls: ProfileRule[] = [
    { names: allowedSyscalls, action: 'SCMP_ACT_ALLOW' },
    ...argumentRules.flatMap(argumentRulesOf),
    { names: refusedSyscalls, action: 'SCMP_ACT_ERRNO', errnoRet: eperm },
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: enosys },
  ];
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: enosys,
    archMap: [{ architecture, subArchitectures: [] }],
    syscalls,
  });
}
