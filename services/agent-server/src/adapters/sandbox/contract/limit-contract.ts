import assert from 'node:assert/strict';
import { statfs } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type {
  Sandbox,
  SandboxCapabilities,
  SandboxEndCause,
  SandboxProfile,
} from '../../../application/ports/sandbox-driver.ts';
import { brokenBound } from '../bound-watch.ts';
import { bash, run, within, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** One way of taking more than is there, in bash; the neighbour must not notice. */
interface Hog {
  readonly name: string;
  readonly needs: keyof SandboxCapabilities | null;
  readonly script: string;
  /** Bounds other than the contract's. */
  readonly profile?: Partial<SandboxProfile>;
  /** What the sandbox ends of; absent: it lives on, and `check` shows that the bound held. */
  readonly ends?: SandboxEndCause;
  check?(sandbox: Sandbox): Promise<void>;
}

/** The disk has a size of its own, whatever was tried. */
async function diskHeld(sandbox: Sandbox): Promise<void> {
  const { blocks, bsize, files } = await statfs(sandbox.workspaceFolder);
  assert.ok(blocks * bsize <= sandbox.profile.diskBytes, `${blocks * bsize} bytes`);
  assert.ok(files <= sandbox.profile.diskFiles * 1.1, `${files} files`);
}

const hogs: readonly Hog[] = [
  {
    name: 'a memory hog is killed by the kernel and ends its sandbox',
    needs: 'memoryLimit',
    script: `exec perl -e 'my @a; push @a, "x" x 8_000_000 while 1'`,
    ends: 'sandbox_memory',
  },
  {
    name: 'a fork bomb is refused more processes and ends its sandbox',
    needs: 'processLimit',
    script: 'bomb() { bomb | bomb & }; bomb; sleep 5',
    ends: 'sandbox_processes',
  },
  {
    name: 'a disk filler meets the end of its own disk',
    needs: 'diskLimit',
    script: 'head -c 300000000 /dev/zero > /workspace/full',
    ends: 'sandbox_disk',
    check: diskHeld,
  },
  {
    name: 'what fills the home is on the same disk',
    needs: 'diskLimit',
    script: 'mkdir ~/a && head -c 300000000 /dev/zero > ~/a/full',
    ends: 'sandbox_disk',
    check: diskHeld,
  },
  {
    name: 'a million small files run out of files first',
    needs: 'diskLimit',
    script: `perl -e 'for (1..1_000_000) { open(my $f, ">", "/workspace/$_") or last }'`,
    ends: 'sandbox_disk',
    check: diskHeld,
  },
  {
    name: 'who has used up its CPU time ends',
    needs: 'cpuLimit',
    profile: { cpuSeconds: 1 },
    script: 'timeout 6 bash -c "while :; do :; done"',
    ends: 'sandbox_cpu',
  },
  {
    name: 'a hog of file descriptors runs out of its own',
    needs: null,
    script: `perl -e 'my @h; while (open(my $f, "<", "/dev/null")) { push @h, $f } print scalar(@h), "\\n"'`,
    async check(sandbox) {
      const open = await bash(sandbox, 'ulimit -Hn');
      assert.ok(Number(open.stdout) <= 65_536, open.stdout);
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

const endsWithinMs = 10_000;

/** Bounds of memory, processes, CPU, disk and tmpfs, each with a neighbour that goes on working. */
export function describeLimits(subject: ContractSubject): void {
  describe('limits', () => {
    const driver = subject.create();
    for (const hog of hogs) {
      it(hog.name, async (test: TestContext) => {
        const capabilities = await driver.probe();
        if (hog.needs !== null && !capabilities[hog.needs])
          return test.skip(`kernel-limits: this machine lets us enforce no ${hog.needs}`);
        await withSandbox(subject, driver, (neighbour) =>
          withSandbox(
            subject,
            driver,
            async (sandbox) => {
              const command = await bash(sandbox, hog.script, { timeoutMs: 15_000 });
              assert.equal((await run(neighbour, ['echo', 'fine'])).stdout, 'fine\n');
              if (hog.ends === undefined) assert.equal(command.cause, 'exited');
              else assert.equal(await within(sandbox.ended, endsWithinMs), hog.ends);
              await hog.check?.(sandbox);
              await neighbour.ping(5_000);
              assert.equal(brokenBound(neighbour.profile, await neighbour.counters()), null);
            },
            hog.profile,
          ),
        );
      });
    }

    it('a command gets no more CPU than its share', async (test: TestContext) => {
      if (!(await driver.probe()).cpuLimit)
        return test.skip('control-groups: this machine lets us enforce no cpuLimit');
      await withSandbox(subject, driver, async (sandbox) => {
        const before = (await sandbox.counters())?.cpuMs ?? 0;
        const spin = 'for i in 1 2 3 4; do timeout 1 bash -c "while :; do :; done" & done; wait';
        const { durationMs } = await bash(sandbox, spin);
        const used = ((await sandbox.counters())?.cpuMs ?? 0) - before;
        assert.ok(used > 0 && used < durationMs * 1.3, `${used} ms of CPU in ${durationMs} ms`);
      });
    });
  });
}
