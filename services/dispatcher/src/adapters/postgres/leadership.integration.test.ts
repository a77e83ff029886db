import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTcpProxy } from '../../testing/tcp-proxy.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import type { TestDatabase } from '../../testing/test-database.ts';
import { within } from '../../testing/within.ts';
import { startLeadership } from './leadership.ts';

const told = (): void => undefined;
const log = { debug: told, info: told, warn: told, error: told };
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

/** A process of its own that wants to lead. */
function startLeader(): { child: ChildProcess; leads: () => boolean } {
  // Nothing of the test runner: the child is none of its tests.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = fork(join(import.meta.dirname, '../../testing/leader.ts'), [database.url.href], {
    execArgv: [],
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let leads = false;
  child.on('message', (word) => {
    leads = word === true;
  });
  return { child, leads: () => leads };
}

/** Seconds, as promised: the holder's silence and a look of the others, with room for a machine that stands still. */
const handOverMs = 12_000;
const settled = async (what: string, is: () => boolean): Promise<void> =>
  within(handOverMs, what, () => Promise.resolve(is()));

test('one leads, and another takes over within seconds when the holder is killed or hangs', async (t) => {
  const first = startLeader();
  t.after(() => first.child.kill('SIGKILL'));
  await settled('the first leads', first.leads);
  const second = await startLeadership(database.url, log);
  t.after(() => second.close());
  assert.equal(second.leads(), false);
  first.child.kill('SIGKILL');
  await settled('the second leads', second.leads);

  const third = startLeader();
  t.after(() => third.child.kill('SIGKILL'));
  await second.close();
  await settled('the third leads after an orderly end', third.leads);
});

test('a holder that is cut off steps down by itself', async (t) => {
  const proxy = await startTcpProxy(Number(database.url.port));
  t.after(() => proxy.close());
  const through = new URL(database.url.href);
  through.port = String(proxy.port);
  const cutOff = await startLeadership(through, log);
  t.after(() => cutOff.close());
  await settled('it leads', cutOff.leads);
  proxy.cut();
  await settled('it steps down', () => !cutOff.leads());
  const other = await startLeadership(database.url, log);
  t.after(() => other.close());
  await settled('the other leads', other.leads);
  proxy.mend();
  // It has come back and asked for the lock, and somebody else holds it.
  await settled('it is connected again', () => proxy.connections() > 0);
  assert.equal(cutOff.leads(), false);
});
