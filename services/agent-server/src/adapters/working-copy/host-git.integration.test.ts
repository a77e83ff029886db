import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { gitConfigText } from './git-environment.ts';
import { createHostGit } from './host-git.ts';
import { endOrphanedGit } from './orphaned-git.ts';

const deadlineMs = 30_000;

/** Living processes, without zombies, that were given this configuration file, with their first two words. */
function gitsOf(configFile: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      if (!environment.includes(`GIT_CONFIG_GLOBAL=${configFile}`)) continue;
      const [program = '', word = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      found.set(Number(pid), `${basename(program)} ${word}`);
    } catch (error) {
      if (!['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  return found;
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!holds()) {
    assert.ok(performance.now() < deadline, what);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A remote that takes a request and never answers it. */
async function silentRemote(t: TestContext): Promise<{ url: string; asked(): Promise<unknown> }> {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const asked = once(server, 'request');
  return { url: `http://127.0.0.1:${address.port}/repository`, asked: () => asked };
}

function configIn(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-host-git-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'git.config');
  writeFileSync(file, gitConfigText());
  return file;
}

test('after a kill -9 of its server git ends at once, and its helpers when the next one starts', async (t) => {
  const remote = await silentRemote(t);
  const [configFile, another] = [configIn(t), configIn(t)];
  const script = fileURLToPath(new URL('server-to-kill.ts', import.meta.url));
  const server = spawn(process.execPath, ['--no-warnings', script, configFile, remote.url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(() => void endOrphanedGit(configFile));
  await remote.asked();
  const names = () => [...gitsOf(configFile).values()].sort();
  const helpers = ['git remote-http', `git-remote-http ${remote.url}`];
  assert.deepEqual(names(), ['git ls-remote', ...helpers].sort());
  server.kill('SIGKILL');
  await once(server, 'exit');
  await until('git lives on', () => !names().includes('git ls-remote'));
  assert.deepEqual(names(), helpers, 'they wait for the remote: a trap');
  const left = new Set(gitsOf(configFile).keys());
  assert.deepEqual(endOrphanedGit(another), [], 'another server’s is left alone');
  assert.deepEqual(new Set(endOrphanedGit(configFile)), left);
  await until('a helper lives on', () => gitsOf(configFile).size === 0);
});

for (const { how, timeoutMs, ends } of [
  { how: 'its deadline', timeoutMs: 1_000, ends: (_stop: AbortController) => undefined },
  { how: 'a stop', timeoutMs: 600_000, ends: (stop: AbortController) => stop.abort(new Error('stopped')) },
])
  test(`${how} ends git together with its helpers, and no orphan of a living server is looked for`, async (t) => {
    const remote = await silentRemote(t);
    const configFile = configIn(t);
    const stop = new AbortController();
    const run = createHostGit(configFile)(['ls-remote', '--', remote.url], {
      signal: stop.signal,
      timeoutMs,
      protocols: ['http'],
    });
    const ended = run.then(
      (result) => result.stderr,
      (error: unknown) => String(error),
    );
    // On a busy machine its deadline may come before it has asked.
    await Promise.race([remote.asked(), ended]);
    assert.deepEqual(endOrphanedGit(configFile), [], 'our own');
    ends(stop);
    assert.match(await ended, /timed out after 1000 ms|stopped/);
    await until('a helper lives on', () => gitsOf(configFile).size === 0);
  });

test('a git that says too much is ended, and a stop before it begins is heard', async (t) => {
  const run = createHostGit(configIn(t));
  const options = { signal: AbortSignal.timeout(deadlineMs), timeoutMs: deadlineMs };
  await assert.rejects(run(['help', '-a'], { ...options, maxOutputBytes: 10 }), /said more than 10 bytes/);
  const none = await run(['no-such-command'], options);
  assert.deepEqual([none.exitCode, /no-such-command/.test(none.stderr)], [1, true]);
  await assert.rejects(
    run(['version'], { ...options, signal: AbortSignal.abort(new Error('before')) }),
    /before/,
  );
});
