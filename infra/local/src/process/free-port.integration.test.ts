import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { freePort, requirePort } from './free-port.ts';

async function takenPort(test: TestContext): Promise<number> {
  const server = createServer();
  await new Promise<void>((settle) => void server.listen(0, '127.0.0.1', settle));
  test.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('a set port that is taken is an error that names port and variable', async (t) => {
  const port = await takenPort(t);
  await assert.rejects(requirePort(port, 'LEMNISCATE_PORT'), {
    code: 'port_in_use',
    message: new RegExp(`Port ${port} .*LEMNISCATE_PORT=${port}`),
  });
});

test('a preferred port that is taken gives way to a free one', async (t) => {
  const taken = await takenPort(t);
  const other = await freePort(taken);
  t.after(other.release);
  assert.notEqual(other.port, taken);
});

test('a port is claimed before anything listens on it, and free again when it is let go of', async (t) => {
  const first = await freePort();
  const second = await freePort(first.port);
  t.after(second.release);
  assert.notEqual(second.port, first.port);
  await assert.rejects(requirePort(first.port, 'LEMNISCATE_PORT'), { code: 'port_in_use' });
  first.release();
  const third = await freePort(first.port);
  t.after(third.release);
  assert.equal(third.port, first.port);
});
