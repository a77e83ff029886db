import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { z } from 'zod';
import { createApp } from './app.ts';
import type { App } from './app.ts';
import { problemMediaType } from './problems.ts';
import { refusePoison } from './refuse-poison.ts';

let app: App;
before(async () => {
  app = await createApp({
    title: 'test',
    logger: pino({ level: 'silent' }),
    newId: (kind) => `${kind}-1`,
    bodyLimit: 8 * 1024 * 1024,
    tls: null,
  });
  refusePoison(app);
  const schema = { params: z.object({ id: z.string() }), body: z.unknown() };
  app.post('/things/:id', { schema }, () => ({ taken: true }));
});
after(() => app.close());

const post = (url: string, payload: unknown) =>
  app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

describe('requests that nothing can store', () => {
  test('NUL and half a surrogate pair are refused wherever they are', async () => {
    for (const answer of [
      await post('/things/a', { text: 'a\0b' }),
      await post('/things/a', { deep: [{ text: 'a\ud800' }] }),
      await post('/things/a', { 'a\0': 1 }),
      await post('/things/a%00', {}),
      await post('/things/a?q=%00', {}),
    ]) {
      assert.equal(answer.statusCode, 400, answer.body);
      assert.equal(answer.json().code, 'request_invalid');
    }
  });

  test('other text passes, however deep it lies', async () => {
    assert.equal((await post('/things/é%F0%9F%98%80', { text: '😀\u202e\u0001' })).statusCode, 200);
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    assert.equal((await post('/things/a', deep)).statusCode, 200);
  });
});

test('what the router refuses is a problem document too', async () => {
  for (const url of [`/things/${'x'.repeat(300)}`, '/things/%E0%A4']) {
    const answer = await post(url, {});
    assert.equal(answer.statusCode, 400, answer.body);
    assert.equal(answer.headers['content-type'], problemMediaType);
    assert.equal(answer.json().code, 'request_invalid');
  }
});
