import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import type { MessageView, TargetView } from '@lemniscate/shared/api/notify.ts';
import type { CommentView } from '@lemniscate/shared/api/object.ts';
import type { HookView } from '@lemniscate/shared/api/trigger.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { beginSession, finishSession, orderOf } from './testing/played-session.ts';
import { fromGithub, webhookBodies } from './testing/signed-webhooks.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const secret = 'a-secret-of-the-hook';
const token = 'a-token-of-the-bot-account';

interface Posted {
  readonly path: string;
  readonly authorization: string;
  readonly body: string;
}

describe('answers that are carried to where they were asked for', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let github: Server;
  let folder: string;
  const posted: Posted[] = [];
  before(async () => {
    github = createServer((request, response) => {
      void text(request).then((body) => {
        posted.push({
          path: request.url ?? '',
          authorization: request.headers.authorization ?? '',
          body: (JSON.parse(body) as { body: string }).body,
        });
        const html_url = `https://github.com/org/app/issues/12#issuecomment-${900 + posted.length}`;
        response.writeHead(201, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: 900 + posted.length, html_url }));
      });
    });
    github.listen(0, '127.0.0.1');
    await once(github, 'listening');
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-carried-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 20 }] });
    dispatcher = await fleet.startDispatcher({
      LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key'),
      LEMNISCATE_NOTIFY_PRIVATE_HOSTS: new URL(githubUrl()).host,
    });
    for (const id of ['lab', 'beside']) await call('POST', '/v1/projects', { id });
    await call('POST', '/v1/agents', { id: 'fixer', project: '*', definition: {} });
    const link = { source: 'github', account: 'octo-pat', subject: 'p-1' };
    await call('PUT', '/v1/account-links', link, { 'if-match': '"0"' });
  });
  after(async () => {
    await fleet.remove();
    github.closeAllConnections();
    await new Promise((resolve) => github.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  const githubUrl = () => `http://127.0.0.1:${(github.address() as AddressInfo).port}`;
  const call = <Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => dispatcher.call<Body>(method, path, body, headers);
  const target = (project: string, more: object = {}, key: string | null = token) =>
    call<TargetView & Problem>('POST', '/v1/notify-targets', {
      project,
      definition: {
        name: 'answers',
        place: { kind: 'github', url: githubUrl() },
        events: ['object.commented'],
        ...more,
      },
      ...(key === null ? {} : { secret: key }),
    });
  const send = async (hook: string, words: string, id: number): Promise<void> => {
    const { headers, body } = fromGithub(webhookBodies.githubComment(words, { id }), {
      secret,
      event: 'issue_comment',
      id: `g-${id}`,
    });
    const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/hooks/${hook}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body,
    });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  };
  const deliveries = async () =>
    (await call<{ deliveries: DeliveryView[] }>('GET', '/v1/deliveries?limit=100')).body.deliveries;
  const thread = async (object: string) =>
    (await call<{ comments: CommentView[] }>('GET', `/v1/objects/${object}/comments`)).body.comments;

  test('such a place needs a token, one project, and takes nothing but comments', async () => {
    assert.match((await target('lab', {}, null)).body.detail, /send it as the secret/);
    assert.match((await target('*')).body.detail, /one project/);
    const other = await target('lab', { events: ['object.commented', 'budget.warning'] });
    assert.match(other.body.detail, /object\.commented alone/);
  });

  test('the answer to a mention becomes a comment there, once, and what comes back of it starts nothing', async () => {
    const made = await target('lab');
    assert.equal(made.status, 201, made.body.detail);
    const beside = await target('beside');
    const hook = await call<HookView>('POST', '/v1/hooks', {
      project: 'lab',
      source: 'github',
      definition: { name: 'github' },
      secret,
    });
    await send(hook.body.id, '@fixer look', 1);
    const started = async () => (await deliveries()).find(({ state }) => state === 'started');
    await within(30_000, 'the mention has started a session', async () => (await started()) !== undefined);
    const delivery = await started();
    const server = fleet.servers[0];
    assert.ok(server !== undefined && delivery !== undefined);
    const order = await orderOf(server, delivery.session ?? '');
    await beginSession(server, order);
    await finishSession(server, order, 'It was add().');
    await within(30_000, 'the answer is there', () => posted.length > 0);
    const [answer] = posted;
    assert.deepEqual(
      [answer?.path, answer?.authorization],
      ['/repos/org/app/issues/12/comments', `Bearer ${token}`],
    );
    assert.match(answer?.body ?? '', /^\*\*fixer\*\*\n\nIt was add\(\)\.\n\n<!-- lemniscate:cmt_\w+ -->$/);
    const object = delivery.object ?? '';
    await within(30_000, 'the comment knows its address there', async () =>
      (await thread(object)).some(({ url }) => url?.endsWith('#issuecomment-901') === true),
    );

    // GitHub tells of the comment: by its number, or, where that is not known, by the mark in it.
    const before = (await deliveries()).length;
    await send(hook.body.id, answer?.body ?? '', 901);
    await send(hook.body.id, `${answer?.body}\n`, 902);
    await send(hook.body.id, 'a word of somebody else', 903);
    await within(30_000, 'all three were taken', async () =>
      (await thread(object)).some(({ body }) => body === 'a word of somebody else'),
    );
    assert.deepEqual(
      (await thread(object)).map(({ createdBy, body }) => [createdBy.id, body]),
      [
        ['github:Octo-Pat', '@fixer look'],
        ['fixer', 'It was add().'],
        ['github:Octo-Pat', 'a word of somebody else'],
      ],
    );
    const after = await deliveries();
    assert.deepEqual(
      after.slice(0, after.length - before).map(({ state, reason }) => [state, reason]),
      [['refused', 'own_comment']],
    );

    // What people say here, and what agents say on things of ours, stays here.
    await call('POST', `/v1/objects/${object}/comments`, { body: 'Between us.' });
    const log = await call<{ messages: MessageView[] }>('GET', `/v1/notify-targets/${made.body.id}/messages`);
    assert.deepEqual(
      log.body.messages.map(({ state }) => state),
      ['delivered'],
    );
    const other = await call<{ messages: MessageView[] }>(
      'GET',
      `/v1/notify-targets/${beside.body.id}/messages`,
    );
    assert.deepEqual(other.body.messages, []);
    assert.equal(posted.length, 1);
    const rows = await fleet.sql<{ line: string }>('SELECT t::text AS line FROM notify_targets t');
    assert.ok(rows.length > 0 && rows.every(({ line }) => !line.includes(token)));
  });

  test('a token is not shown to another host than it was given for', async () => {
    const { body } = await target('lab');
    const change = (place: object, more: object = {}) =>
      call<Problem>(
        'PUT',
        `/v1/notify-targets/${body.id}`,
        { definition: { ...body.definition, place }, ...more },
        { 'if-match': `"${body.version}"` },
      );
    const elsewhere = { kind: 'github', url: 'https://github.evil.example' };
    const refused = await change(elsewhere);
    assert.deepEqual([refused.status, refused.body.code], [400, 'request_invalid']);
    assert.equal((await change(elsewhere, { secret: 'another-token-for-that-host' })).status, 200);
  });
});
