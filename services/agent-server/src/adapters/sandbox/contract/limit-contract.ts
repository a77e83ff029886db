import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { Sandbox, SandboxCapabilities } from '../../../application/ports/sandbox-driver.ts';
import { bash, run, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** One way of taking more than is there, in bash; the neighbour must not notice. */
interface Hog {
  readonly name: string;
  readonly needs: keyof SandboxCapabilities | null;
  readonly script: string;
  /** After the hog: what shows that the bound held. */
  check(sandbox: Sandbox): Promise<void>;
}

const hogs: readonly Hog[] = [
  {
    name: 'a memory hog is killed by the kernel and counted',
    needs: 'memoryLimit',
    script: `exec perl -e 'my @a; push @a, "x" x 8_000_000 while 1'`,
    async check(sandbox) {
      const kills = async (): Promise<number> => (await sandbox.counters()).memoryKills ?? 0;
      // the kernel may also choose the supervisor; then the sandbox itself says why it ended
      const alive = await sandbox.ping(5_000).then(
        () => true,
        () => false,
      );
      if (alive) assert.ok((await kills()) > 0);
      else assert.equal(await sandbox.ended, 'sandbox_memory');
    },
  },
  {
    name: 'a fork bomb is refused more processes, counted, and ended by killCommands',
    needs: 'processLimit',
    script: 'bomb() { bomb | bomb & }; bomb; sleep 1',
    async check(sandbox) {
      assert.ok(((await sandbox.counters()).processRefusals ?? 0) > 0);
      await sandbox.killCommands();
      const left = await bash(sandbox, 'ps -eo stat= | grep -cv Z');
      assert.ok(Number(left.stdout) < 10, left.stdout);
    },
  },
  {
    name: 'a full /tmp is an error of the writer alone',
    needs: null,
    script: 'head -c 100000000 /dev/zero > /tmp/full; head -c 100000000 /dev/zero > /dev/shm/full',
    async check(sandbox) {
      const size = await bash(sandbox, 'du -sb /tmp | cut -f1; rm /tmp/full');
      assert.ok(Number(size.stdout) <= 33_600_000, size.stdout);
      assert.equal((await bash(sandbox, 'echo fine')).stdout, 'fine\n');
    },
  },
];

/** Bounds of memory, processes and tmpfs, each with a neighbour that goes on working. */
export function describeLimits(subject: ContractSubject): void {
  describe('limits', () => {
    if (subject.kernel === 'own') {
      const skip = 'own-kernel: bounds are the runtime’s, not control groups that can be counted here';
      it('bounds', { skip }, () => undefined);
      return;
    }
    const driver = subject.create();
    for (const hog of hogs) {
      it(hog.name, async (test: TestContext) => {
        const capabilities = await driver.probe();
        if (hog.needs !== null && !capabilities[hog.needs])
          return test.skip(`control-groups: this machine lets us enforce no ${hog.needs}`);
        await withSandbox(subject, driver, (neighbour) =>
          withSandbox(subject, driver, async (sandbox) => {
            await bash(sandbox, hog.script, { timeoutMs: 8_000 });
            assert.equal((await run(neighbour, ['echo', 'fine'])).stdout, 'fine\n');
            assert.ok(((await neighbour.counters()).memoryKills ?? 0) === 0);
            await hog.check(sandbox);
          }),
        );
      });
    }

    it('a command gets no more CPU than its share', async (test: TestContext) => {
      if (!(await driver.probe()).cpuLimit)
        return test.skip('control-groups: this machine lets us enforce no cpuLimit');
      await withSandbox(subject, driver, async (sandbox) => {
        const before = (await sandbox.counters()).cpuMs ?? 0;
        const spin = 'for i in 1 2 3 4; do timeout 1 bash -c "while :; do :; done" & done; wait';
        const { durationMs } = await bash(sandbox, spin);
        const used = ((await sandbox.counters()).cpuMs ?? 0) - before;
        assert.ok(used > 0 && used < durationMs * 1.3, `${used} ms of CPU in ${durationMs} ms`);
      });
    });
  });
}
