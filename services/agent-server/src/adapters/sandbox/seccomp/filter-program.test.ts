import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filterProgram } from './filter-program.ts';
import type { FilterArchitecture } from './filter-program.ts';
import { syscallNumbers } from './syscall-numbers.ts';
import type { SyscallName } from './syscall-numbers.ts';
import { allowedSyscalls, argumentRules, refusedSyscalls } from './syscall-rules.ts';

const allow = 0x7fff0000;
const refused = 0x00050001;
const unknown = 0x00050026;
const kill = 0x80000000;

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly args?: readonly bigint[];
}

/** Runs classic BPF over one struct seccomp_data, as the kernel would. */
function judge(program: Buffer, { architecture, number, args = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const [jt, jf, k] = [
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
      program.readUInt32LE(at * 8 + 4),
    ];
    const jump = (holds: boolean): void => {
      at += holds ? jt : jf;
    };
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x25) jump(accumulator > k);
    else if (code === 0x35) jump(accumulator >= k);
    else if (code === 0x06) return k;
    else assert.fail(`unknown instruction ${code}`);
  }
  return assert.fail('the program fell off its end');
}

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

for (const name of ['x64', 'arm64'] as const satisfies readonly FilterArchitecture[]) {
  describe(`system call filter of ${name}`, () => {
    const program = filterProgram(name);
    const architecture = architectures[name];
    const verdict = (syscall: SyscallName, ...args: bigint[]): number | null => {
      const number = syscallNumbers[syscall][name === 'x64' ? 0 : 1];
      return number === null ? null : judge(program, { architecture, number, args });
    };

    it('lets through what is listed, refuses what is known, and does not know the rest', () => {
      for (const syscall of allowedSyscalls) assert.ok([allow, null].includes(verdict(syscall)), syscall);
      for (const syscall of refusedSyscalls) assert.ok([refused, null].includes(verdict(syscall)), syscall);
      assert.equal(verdict('clone3'), unknown);
      for (const number of [500, 1000, 0x3fffffff])
        assert.equal(judge(program, { architecture, number }), unknown);
    });

    it('kills another architecture’s calls, and does not know x32', () => {
      const other = name === 'x64' ? 0x40000003 : 0x40000028; // i386, arm
      assert.equal(judge(program, { architecture: other, number: 1 }), kill);
      if (name === 'x64') assert.equal(judge(program, { architecture, number: 0x40000001 }), unknown);
    });

    it('judges clone by its flags, socket by its family, prlimit by its process, ioctl by its request', () => {
      assert.equal(verdict('clone', 0x01200011n), allow);
      for (const flag of [0x10000000n, 0x00020000n, 0x40000000n, 0x20000000n, 0x02000000n])
        assert.equal(verdict('clone', flag | 17n), refused);
      for (const family of [1n, 2n, 10n, 16n]) assert.equal(verdict('socket', family), allow);
      for (const family of [0n, 17n, 38n, 40n, 44n]) assert.equal(verdict('socket', family), refused);
      assert.equal(verdict('prlimit64', 0n), allow);
      assert.equal(verdict('prlimit64', 1n), refused);
      assert.equal(verdict('ioctl', 0n, 0x5401n), allow);
      assert.equal(verdict('ioctl', 0n, 0x5412n), refused);
      assert.equal(verdict('personality', 0xffffffffn), allow);
      assert.equal(verdict('personality', 0x0040000n), refused);
    });

    it('looks at the half of an argument that the kernel looks at', () => {
      assert.equal(verdict('ioctl', 0n, 0xdead_0000_5412n), refused);
      assert.equal(verdict('socket', 0x1_0000_0028n), refused);
    });
  });
}

it('the tables do not contradict each other', () => {
  const judged = argumentRules.map(({ syscall }) => syscall);
  const all = [...allowedSyscalls, ...refusedSyscalls, ...judged];
  assert.deepEqual(
    all.filter((name, index) => all.indexOf(name) !== index),
    [],
  );
  for (const name of all) assert.ok(name in syscallNumbers, name);
});
