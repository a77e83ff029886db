import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

async function fleetOf(t: TestContext, names: readonly string[]): Promise<TestFleet> {
  const fleet = await createTestFleet({ servers: names.map((name) => ({ name, capacity: 20 })) });
  t.after(() => fleet.remove());
  return fleet;
}

async function seen(dispatcher: TestDispatcher, id: string): Promise<ServerView | undefined> {
  const { body } = await dispatcher.call<{ servers: ServerView[] }>('GET', '/v1/servers');
  return body.servers.find((server) => server.id === id);
}

const usable = (dispatcher: TestDispatcher, id: string): Promise<void> =>
  within(30_000, `${id} can be used`, async () => ((await seen(dispatcher, id))?.usable ?? 0) > 0);

const outOfList = (dispatcher: TestDispatcher, id: string): Promise<void> =>
  within(30_000, `${id} is out`, async () =>
    /taken out of the list/.test((await seen(dispatcher, id))?.outBecause ?? ''),
  );

/** Opens so many sessions and waits until each lies on the server. */
async function allOn(dispatcher: TestDispatcher, held: ReadonlyMap<string, number>, count: number) {
  const ids = await Promise.all(
    Array.from({ length: count }, async () => {
      const opened = await dispatcher.call<SessionView>('POST', '/v1/sessions', ordinaryRequest);
      assert.equal(opened.status, 202, JSON.stringify(opened.body));
      return opened.body.id;
    }),
  );
  await within(30_000, 'all are on the server that is listed', () => ids.every((id) => held.has(id)));
}

test('a line that was taken out while no dispatcher ran is out for the next one as well', async (t) => {
  const fleet = await fleetOf(t, ['a', 'b']);
  const [, b] = fleet.servers;
  assert.ok(b);
  const first = await fleet.startDispatcher();
  await usable(first, 'a');
  await usable(first, 'b');
  await first.stop();
  const second = await fleet.startDispatcher({ AGENT_SERVERS: b.url });
  await usable(second, 'b');
  await outOfList(second, 'a');
  await allOn(second, b.held, 6);
  await second.stop();
  const third = await fleet.startDispatcher();
  await usable(third, 'a');
});

test('while one of several dispatchers still names an address its server stays, and leaves when none does', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-list-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const fleet = await fleetOf(t, ['a', 'b']);
  const [a, b] = fleet.servers;
  assert.ok(a && b);
  const lists = ['one', 'two'].map((name) => join(folder, name));
  const [one = '', two = ''] = lists;
  for (const list of lists) await writeFile(list, `${a.url}\n${b.url}\n`);
  const start = (file: string) => fleet.startDispatcher({ AGENT_SERVERS: '', AGENT_SERVERS_FILE: file });
  const first = await start(one);
  await start(two);
  await usable(first, 'a');
  await usable(first, 'b');
  await writeFile(two, `${b.url}\n`);
  const outcomes = new Set<string>();
  const looks = new Set<string>();
  await within(30_000, 'both have read their lists again and again', async () => {
    outcomes.add((await seen(first, 'a'))?.outBecause ?? 'in');
    const rows = await fleet.sql<{ look: string }>(
      `SELECT dispatcher || named_at AS look FROM agent_server_lists`,
    );
    for (const { look } of rows) looks.add(look);
    return looks.size >= 12;
  });
  assert.deepEqual([...outcomes], ['in']);
  await writeFile(one, `${b.url}\n`);
  await outOfList(first, 'a');
  await allOn(first, b.held, 4);
});
