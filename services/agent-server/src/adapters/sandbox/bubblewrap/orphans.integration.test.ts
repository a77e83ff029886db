import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { killLaunch, killOrphanedLaunches } from './orphans.ts';

/** Stands for a bwrap that waits for ever: what is looked at is its name, its parent and its descriptors. */
function standIn(folder: string): string {
  const program = join(folder, 'bwrap');
  if (!existsSync(program)) copyFileSync('/usr/bin/sleep', program);
  execFileSync('chmod', ['755', program]);
  return program;
}

const isDead = (pid: number): boolean => {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true; // gone
  }
};

async function untilDead(pid: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!isDead(pid)) {
    assert.ok(performance.now() < deadline, `${pid} lives`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('an orphan that holds our filter is ended; one that holds another, and our own child, are left alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-orphans-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const program = standIn(folder);
  const orphan = (filter: string): number => {
    writeFileSync(filter, '');
    // the shell ends at once, so its child goes to init
    const shell = `"$1" 1000 5<"$2" >/dev/null 2>&1 & echo $!`;
    return Number(execFileSync('sh', ['-c', shell, 'sh', program, filter], { encoding: 'utf8' }));
  };
  const ours = orphan(join(folder, 'ours.bpf'));
  const foreign = orphan(join(folder, 'foreign.bpf'));
  const child = spawn(program, ['1000'], { stdio: ['ignore', 'ignore', 'ignore'] });
  t.after(() => {
    for (const pid of [ours, foreign]) if (!isDead(pid)) process.kill(pid, 'SIGKILL');
    child.kill('SIGKILL');
  });
  assert.deepEqual(killOrphanedLaunches(join(folder, 'ours.bpf')), [ours]);
  await untilDead(ours);
  assert.equal(isDead(foreign), false);
  assert.equal(child.exitCode, null);
});

test('a launch is ended with the child that does not yet die with it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-orphans-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const child = spawn('sh', ['-c', `"${standIn(folder)}" 1000 & echo $!; wait`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  const grandchild = Number(printed.toString('utf8'));
  assert.ok(child.pid !== undefined);
  killLaunch(child.pid);
  await untilDead(grandchild);
});
