import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createTestFleet, ordinaryRequest } from '@lemniscate/dispatcher/testing/test-fleet.ts';
import { within } from '@lemniscate/dispatcher/testing/within.ts';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { projectRoot } from '../project-root.ts';

// What an operator waits for before touching a machine, with servers whose last words are behind what they hold.

/** A fleet of one server, with a session on it that the server has not spoken of yet. */
async function withSession(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-drain-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const fleet = await createTestFleet({ servers: [{ name: 'a', capacity: 4 }] });
  t.after(() => fleet.remove());
  const [server] = fleet.servers;
  assert.ok(server);
  const list = join(folder, 'servers');
  await writeFile(list, server.url);
  const dispatcher = await fleet.startDispatcher({ AGENT_SERVERS: '', AGENT_SERVERS_FILE: list });
  server.says = { held: [] };
  const { body } = await dispatcher.call<SessionView>('POST', '/v1/sessions', ordinaryRequest);
  await within(20_000, 'it is placed', () => server.held.has(body.id));
  const view = async (): Promise<ServerView | undefined> =>
    (await dispatcher.call<{ servers: ServerView[] }>('GET', '/v1/servers')).body.servers[0];
  const call = async (method: string, path: string): Promise<void> => {
    const seen = { 'if-match': `"${(await view())?.version}"` };
    const answer = await dispatcher.call(method, path, undefined, seen);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
  };

  const said = { out: '', err: '' };
  const { NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const bin = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const child = spawn(process.execPath, [bin, 'servers', 'drain', 'a', '--wait'], {
    env: {
      ...inherited,
      LEMNISCATE_URL: `http://127.0.0.1:${dispatcher.publicPort}`,
      LEMNISCATE_TOKEN: fleet.token,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill());
  child.stdout.on('data', (part: Buffer) => (said.out += part.toString('utf8')));
  child.stderr.on('data', (part: Buffer) => (said.err += part.toString('utf8')));
  const ended = (): Promise<void> => within(20_000, 'the command ends', () => child.exitCode !== null);
  await within(20_000, 'it waits', () => said.err !== '' || child.exitCode !== null);
  assert.match(said.err, /^a still holds 1\.$/m, said.out);
  assert.equal(child.exitCode, null);
  return { sessionId: body.id, list, view, call, child, said, ended };
}

test('a drained server is empty when what it was given last has ended, whatever it said before', async (t) => {
  const { sessionId, call, child, said, ended } = await withSession(t);
  await call('POST', `/v1/sessions/${sessionId}/stop`);
  await ended();
  assert.equal(child.exitCode, 0, said.err);
  assert.match(said.out, /^a is empty \(it is being drained\)\.$/m);
});

test('a server that leaves the fleet meanwhile is not called empty', async (t) => {
  const { list, view, call, child, said, ended } = await withSession(t);
  await writeFile(list, '# none\n');
  await within(20_000, 'it is out of the list', async () =>
    /taken out of the list/.test((await view())?.outBecause ?? ''),
  );
  await call('DELETE', '/v1/servers/a');
  await ended();
  assert.notEqual(child.exitCode, 0);
  assert.match(said.err, /"a" has left the fleet while it was being emptied/);
  assert.equal(said.out, '');
});

test('a drain that somebody else ends is not waited for', async (t) => {
  const { call, child, said, ended } = await withSession(t);
  await call('DELETE', '/v1/servers/a/drain');
  await ended();
  assert.notEqual(child.exitCode, 0);
  assert.match(said.err, /"a" is in use again: somebody ended the drain/);
});
