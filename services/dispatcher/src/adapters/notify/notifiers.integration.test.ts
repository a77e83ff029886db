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
const got: { url: string; headers: IncomingMessage['headers']; body: string }[] = [];
let mailbox: SMTPServer;
const mails: string[] = [];
let mailPort = 0;
let port = 0;

before(async () => {
  receiver = createServer((request, response) => {
    text(request).then(
      (body) => {
        got.push({ url: `${request.method} ${request.url}`, headers: request.headers, body });
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
  work: (
    send: (place: NoticePlace, key?: string, ms?: number, told?: OutgoingNotice) => Promise<unknown>,
  ) => Promise<Result>,
  smtp = `smtp://127.0.0.1:${mailPort}`,
): Promise<Result> {
  const guarded = createGuardedFetch({ privateHosts: allowed ? [`127.0.0.1:${port}`] : [], maxBytes: 1_024 });
  const notifiers = createNotifiers(guarded, { url: secret(smtp), from: 'fleet@example.org' });
  try {
    return await work((place, key = signingKey, ms = 5_000, told = notice) =>
      notifiers[place.kind].send(told, place, key, new Date(), AbortSignal.timeout(ms)),
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

/** An agent's comment on the picture of a thing of another system. */
const carried = (sourceKey: string, thread: string | null = null, body = 'Because & so'): OutgoingNotice => ({
  ...notice,
  data: { ...data, body, comment: 'cmt_1', byKind: 'agent', sourceKey, thread },
});
const sayJson = (status: number, value: object, headers: Record<string, string> = {}) => {
  answer = (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(value));
};
const token = 'hunter22-token-of-a-bot';
const base = () => `http://127.0.0.1:${port}`;
const threadOfSlack = 'T1/C1/1764450000.000100';

test('GitHub: the comment goes to the issue, in a review to its thread, and is known by its number there', async () => {
  const place = (): NoticePlace => ({ kind: 'github', url: `${base()}/` });
  sayJson(201, { id: 77, html_url: 'https://github.com/org/app/issues/12#issuecomment-77' });
  got.splice(0);
  await using(true, async (send) => {
    assert.deepEqual(await send(place(), token, 5_000, carried('org/app#12')), {
      ok: true,
      status: 201,
      posted: {
        key: 'issue_comment:77',
        url: 'https://github.com/org/app/issues/12#issuecomment-77',
      },
    });
    const review = (await send(place(), token, 5_000, carried('org/app#12', '501'))) as {
      posted: { key: string };
    };
    assert.equal(review.posted.key, 'pull_request_review_comment:77');
    for (const key of ['org/app', 'org/../x#1', 'org/app#1/../../2', ''])
      assert.equal(((await send(place(), token, 5_000, carried(key))) as { ok: boolean }).ok, false, key);
  });
  assert.deepEqual(
    got.map(({ url }) => url),
    ['POST /repos/org/app/issues/12/comments', 'POST /repos/org/app/pulls/12/comments/501/replies'],
  );
  const [first] = got;
  assert.equal(first?.headers.authorization, `Bearer ${token}`);
  assert.equal(first?.headers['x-github-api-version'], '2022-11-28');
  const { body } = JSON.parse(first?.body ?? '{}') as { body: string };
  assert.equal(body, '**fixer**\n\nBecause & so\n\n<!-- lemniscate:cmt_1 -->');
});

test('GitHub: a used-up limit is waited for by its own clock, and a repository without issues ends nothing else', async () => {
  await using(true, async (send) => {
    const place: NoticePlace = { kind: 'github', url: base() };
    const now = Date.parse('2026-01-01T00:00:00Z');
    sayJson(
      403,
      {},
      {
        date: new Date(now).toUTCString(),
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(now / 1_000 + 90),
      },
    );
    assert.deepEqual(await send(place, token, 5_000, carried('org/app#12')), {
      ok: false,
      status: 403,
      fault: 'It answered 403.',
      retryAfterSeconds: 90,
    });
    sayJson(410, { message: 'Issues are disabled for this repo' });
    assert.deepEqual(await send(place, token, 5_000, carried('org/app#12')), {
      ok: false,
      status: 410,
      fault: 'It answered 410.',
    });
    // Taken is taken, though its answer cannot be read.
    sayJson(201, { id: 1, body: 'x'.repeat(5_000) });
    assert.deepEqual(await send(place, token, 5_000, carried('org/app#12')), { ok: true, status: 201 });
  });
});

test('GitLab: the note goes into the thread that it answers, of an issue or a merge request', async () => {
  sayJson(201, { id: 88, body: 'x' });
  got.splice(0);
  await using(true, async (send) => {
    const place: NoticePlace = { kind: 'gitlab', url: `${base()}/git` };
    const posted = await send(place, token, 5_000, carried('group/sub/app!3', 'd1f'));
    assert.deepEqual(posted, { ok: true, status: 201, posted: { key: 'note:88', url: null } });
    await send(place, token, 5_000, carried('org/app#4'));
  });
  assert.deepEqual(
    got.map(({ url }) => url),
    [
      'POST /git/api/v4/projects/group%2Fsub%2Fapp/merge_requests/3/discussions/d1f/notes',
      'POST /git/api/v4/projects/org%2Fapp/issues/4/notes',
    ],
  );
});

test('an agent’s words are no command of the account that carries them, and call nobody', async () => {
  sayJson(201, { id: 88 });
  got.splice(0);
  const words = '/close\n  /merge\n@dependabot merge, `@all`\n/usr/bin/env\nmail me@example.org, a/b';
  await using(true, (send) =>
    send({ kind: 'gitlab', url: base() }, token, 5_000, carried('org/app#4', null, words)),
  );
  const { body } = JSON.parse(got[0]?.body ?? '{}') as { body: string };
  // GitLab carries out lines that begin so, bots what they are told by name.
  assert.match(words, /^\s*\/[a-z]/m);
  assert.doesNotMatch(body, /^\s*\/[a-z]/m);
  assert.doesNotMatch(body, /@(dependabot|all)/);
  assert.equal(
    body.replaceAll('\u200B', ''),
    `**fixer**\n\n${words}\n\n<!-- lemniscate:cmt_1 -->`,
    'and nothing else is changed',
  );
  assert.match(body, /mail me@example\.org, a\/b/);
});

test('Slack: the answer goes into the thread; what Slack refuses with 200 is refused', async () => {
  sayJson(200, { ok: true, channel: 'C1', ts: '1764450001.000100' });
  got.splice(0);
  await using(true, async (send) => {
    const place: NoticePlace = { kind: 'slack_thread', url: base() };
    const told = carried(threadOfSlack, null, 'Tell <!channel> & all');
    assert.deepEqual(await send(place, token, 5_000, told), { ok: true, status: 200 });
    sayJson(200, { ok: false, error: 'not_in_channel' });
    assert.deepEqual(await send(place, token, 5_000, told), {
      ok: false,
      status: 200,
      fault: 'Slack refused it: not_in_channel.',
    });
  });
  assert.equal(got[0]?.url, 'POST /api/chat.postMessage');
  const said = JSON.parse(got[0]?.body ?? '{}') as Record<string, string>;
  assert.deepEqual(
    [said['channel'], said['thread_ts'], said['text']],
    ['C1', '1764450000.000100', '*fixer*\nTell &lt;!channel&gt; &amp; all'],
  );
});

interface Placed {
  readonly place: NoticePlace;
  readonly key: string;
  readonly told?: OutgoingNotice;
}

/** A place of each kind whose receiver is this machine's; the compiler asks for one of a new kind. */
const places: Readonly<Record<NoticePlace['kind'], () => Placed>> = {
  webhook: () => ({ place: here(), key: signingKey }),
  slack: () => ({ place: { kind: 'slack' }, key: `http://127.0.0.1:${port}/services/T/B/hunter22` }),
  email: () => ({ place: { kind: 'email', addresses: ['one@example.org'] }, key: '' }),
  github: () => ({ place: { kind: 'github', url: base() }, key: token, told: carried('org/app#12') }),
  gitlab: () => ({ place: { kind: 'gitlab', url: base() }, key: token, told: carried('org/app#12') }),
  slack_thread: () => ({
    place: { kind: 'slack_thread', url: base() },
    key: token,
    told: carried(threadOfSlack),
  }),
};

for (const [kind, placeOf] of Object.entries(places)) {
  test(`the contract, ${kind}: what was taken is told as taken`, async () => {
    sayJson(200, { ok: true, id: 1 });
    const { place, key, told } = placeOf();
    const outcome = (await using(true, (send) => send(place, key, 5_000, told))) as { ok: boolean };
    assert.equal(outcome.ok, true);
  });

  test(`the contract, ${kind}: a receiver that hangs up is an outcome in words, without a secret`, async () => {
    answer = (_request, response) => void response.destroy();
    const { place, key, told } = placeOf();
    // This receiver speaks HTTP: to a mail program it is one that breaks off.
    const outcome = (await using(
      true,
      (send) => send(place, key, 5_000, told),
      `smtp://user:hunter22@127.0.0.1:${port}`,
    )) as { ok: boolean; fault?: string };
    assert.equal(outcome.ok, false);
    assert.match(outcome.fault ?? '', /^[A-Z].*\.$/);
    assert.doesNotMatch(JSON.stringify(outcome), /hunter22|whsec_/);
  });
}
