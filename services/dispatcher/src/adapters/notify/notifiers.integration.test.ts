import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { NoticePlace } from '@lemniscate/shared/api/notify.ts';
import type { OutgoingNotice } from '../../application/ports/notifier.ts';
import { createGuardedFetch } from '../outgoing/guarded-fetch.ts';
import { createNotifiers } from './registry.ts';

const signingKey = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const data = {
  object: 'obj_1',
  title: 'Sum\u001b[2J <b>',
  by: 'fixer',
  body: 'Because & so',
  status: 'done',
};
const notice: OutgoingNotice = {
  id: `msg_${'a'.repeat(32)}`,
  type: 'object.commented',
  data,
  body: JSON.stringify({ type: 'object.commented', timestamp: '2026-01-01T00:00:00.000Z', data }),
};

/** A receiver on this machine; what it answers is the test's to say. */
let receiver: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const got: { headers: IncomingMessage['headers']; body: string }[] = [];
let mailbox: SMTPServer;
const mails: string[] = [];
let mailPort = 0;
let port = 0;

before(async () => {
  receiver = createServer((request, response) => {
    text(request).then(
      (body) => {
        got.push({ headers: request.headers, body });
        answer(request, response);
      },
      () => response.destroy(),
    );
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  port = (receiver.address() as AddressInfo).port;
  mailbox = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith('nobody') ? new Error('unknown') : undefined),
    onData: (stream, _session, callback) => {
      text(stream).then(
        (mail) => {
          mails.push(mail);
          callback();
        },
        (error: unknown) => callback(error as Error),
      );
    },
  });
  const listening = mailbox.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  mailPort = (listening.address() as AddressInfo).port;
});
after(async () => {
  receiver.closeAllConnections();
  await Promise.all([
    new Promise((resolve) => receiver.close(resolve)),
    new Promise<void>((resolve) => mailbox.close(() => resolve())),
  ]);
});

/** The family, with this machine named by the operator or not. */
async function using<Result>(
  allowed: boolean,
  work: (send: (place: NoticePlace, key?: string, ms?: number) => Promise<unknown>) => Promise<Result>,
  smtp = `smtp://127.0.0.1:${mailPort}`,
): Promise<Result> {
  const guarded = createGuardedFetch({ privateHosts: allowed ? [`127.0.0.1:${port}`] : [], maxBytes: 1_024 });
  const notifiers = createNotifiers(guarded, { url: secret(smtp), from: 'fleet@example.org' });
  try {
    return await work((place, key = signingKey, ms = 5_000) =>
      notifiers[place.kind].send(notice, place, key, new Date(), AbortSignal.timeout(ms)),
    );
  } finally {
    await Promise.all(Object.values(notifiers).map((one) => one.close()));
    await guarded.close();
  }
}

const here = (): NoticePlace => ({ kind: 'webhook', url: `http://127.0.0.1:${port}/in` });
const say = (status: number, headers: Record<string, string> = {}) => {
  answer = (_request, response) => void response.writeHead(status, headers).end('x');
};

test('a webhook passes the check of Standard Webhooks’ own library, and a changed one does not', async () => {
  say(204);
  assert.deepEqual(await using(true, (send) => send(here())), { ok: true, status: 204 });
  const [request] = got.splice(0);
  const headers = request?.headers as Record<string, string>;
  const checker = new Webhook(signingKey);
  assert.deepEqual(checker.verify(request?.body ?? '', headers), JSON.parse(notice.body));
  assert.equal(headers['webhook-id'], notice.id);
  assert.throws(() => checker.verify(`${request?.body} `, headers));
  assert.throws(() => checker.verify(request?.body ?? '', { ...headers, 'webhook-id': 'msg_b' }));
});

test('what a receiver answers is told: refused, gone, later, and a redirect is not followed', async () => {
  await using(true, async (send) => {
    say(500);
    assert.deepEqual(await send(here()), { ok: false, status: 500, fault: 'It answered 500.' });
    say(410);
    assert.deepEqual(await send(here()), { ok: false, status: 410, fault: 'It answered 410.', gone: true });
    say(429, { 'retry-after': '120' });
    assert.deepEqual(await send(here()), {
      ok: false,
      status: 429,
      fault: 'It answered 429.',
      retryAfterSeconds: 120,
    });
    got.splice(0);
    say(302, { location: `http://127.0.0.1:${port}/elsewhere` });
    assert.match(JSON.stringify(await send(here())), /redirect/);
    assert.equal(got.length, 1);
    answer = () => undefined;
    assert.deepEqual(await send(here(), signingKey, 200), {
      ok: false,
      status: null,
      fault: 'It did not answer in time.',
    });
  });
});

test('addresses inside are refused however they are written, before a byte is sent', async () => {
  say(200);
  got.splice(0);
  await using(false, async (send) => {
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/`,
      `https://localhost:${port}/`,
      `https://[::1]:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      `https://2130706433:${port}/`,
      `https://0x7f.1:${port}/`,
      'https://169.254.169.254/latest/meta-data/',
      'https://10.0.0.1/',
    ])
      assert.match(
        JSON.stringify(await send({ kind: 'webhook', url })),
        /LEMNISCATE_NOTIFY_PRIVATE_HOSTS/,
        url,
      );
    const slack = JSON.stringify(
      await send({ kind: 'slack' }, `http://127.0.0.1:${port}/services/T/B/secret`),
    );
    assert.match(slack, /PRIVATE_HOSTS/);
    assert.ok(!slack.includes('secret'));
  });
  assert.equal(got.length, 0);
  // The same addresses do get there once the operator names the host: what refused them was the guard.
  assert.deepEqual(await using(true, (send) => send(here())), { ok: true, status: 200 });
});

test('Slack is told in words that cannot become a link or a mention', async () => {
  say(200);
  got.splice(0);
  await using(true, (send) => send({ kind: 'slack' }, `http://127.0.0.1:${port}/services/T/B/secret`));
  const { text: said } = JSON.parse(got[0]?.body ?? '{}') as { text: string };
  assert.match(said, /^fixer on Sum\\x1b\[2J &lt;b&gt;\nBecause &amp; so$/);
});

test('a mail arrives at a real mail server, with the message’s id and nobody else’s address', async () => {
  const addresses = ['one@example.org', 'two@example.org'];
  const sent = await using(false, (send) => send({ kind: 'email', addresses }));
  assert.deepEqual(sent, { ok: true, status: 250 });
  const [mail] = mails.splice(0);
  assert.match(mail ?? '', new RegExp(`Message-ID: <${notice.id}@lemniscate>`));
  assert.match(mail ?? '', /Subject: fixer on Sum\\x1b\[2J <b>/);
  assert.ok(!/two@example\.org/.test(mail ?? ''));
  const half = await using(false, (send) =>
    send({ kind: 'email', addresses: ['one@example.org', 'nobody@example.org'] }),
  );
  assert.deepEqual(half, { ok: false, status: 250, fault: '1 addresses were refused.' });
});

test('a mail server that is not there, and none at all, are told without their password', async () => {
  const place: NoticePlace = { kind: 'email', addresses: ['one@example.org'] };
  const away = await using(false, (send) => send(place), 'smtp://user:hunter22@127.0.0.1:1');
  assert.match(JSON.stringify(away), /did not take it/);
  assert.ok(!JSON.stringify(away).includes('hunter22'));
  const guarded = createGuardedFetch({ privateHosts: [], maxBytes: 1_024 });
  const { email } = createNotifiers(guarded, null);
  const none = await email.send(notice, place, '', new Date(), AbortSignal.timeout(1_000));
  assert.match(JSON.stringify(none), /LEMNISCATE_SMTP_URL/);
  await guarded.close();
});

/** A place of each kind whose receiver is this machine's; the compiler asks for one of a new kind. */
const places: Readonly<Record<NoticePlace['kind'], () => { place: NoticePlace; key: string }>> = {
  webhook: () => ({ place: here(), key: signingKey }),
  slack: () => ({ place: { kind: 'slack' }, key: `http://127.0.0.1:${port}/services/T/B/hunter22` }),
  email: () => ({ place: { kind: 'email', addresses: ['one@example.org'] }, key: '' }),
};

for (const [kind, placeOf] of Object.entries(places)) {
  test(`the contract, ${kind}: what was taken is told as taken`, async () => {
    say(200);
    const { place, key } = placeOf();
    const outcome = (await using(true, (send) => send(place, key))) as { ok: boolean };
    assert.equal(outcome.ok, true);
  });

  test(`the contract, ${kind}: a receiver that hangs up is an outcome in words, without a secret`, async () => {
    answer = (_request, response) => void response.destroy();
    const { place, key } = placeOf();
    // This receiver speaks HTTP: to a mail program it is one that breaks off.
    const outcome = (await using(
      true,
      (send) => send(place, key),
      `smtp://user:hunter22@127.0.0.1:${port}`,
    )) as { ok: boolean; fault?: string };
    assert.equal(outcome.ok, false);
    assert.match(outcome.fault ?? '', /^[A-Z].*\.$/);
    assert.doesNotMatch(JSON.stringify(outcome), /hunter22|whsec_/);
  });
}
