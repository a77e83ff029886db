import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import type { CommentView, ObjectView } from '@lemniscate/shared/api/object.ts';
import type { HookView, TriggerView } from '@lemniscate/shared/api/trigger.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { RawDelivery } from './application/triggers/sources/webhook-source.ts';
import { beginSession, finishSession, orderOf } from './testing/played-session.ts';
import { fromGithub, fromGitlab, fromSlack, webhookBodies } from './testing/signed-webhooks.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const secret = 'a-secret-of-the-hook';

describe('what starts sessions', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  let folder: string;
  let variables: Record<string, string>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-triggers-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    variables = { LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key') };
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 100 }] });
    dispatcher = await fleet.startDispatcher(variables);
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    assert.equal((await call('POST', '/v1/projects', { id: 'lab' })).status, 201);
    const repository = { kind: 'git', url: 'https://example.invalid/r.git' };
    await call('PUT', '/v1/projects/lab/workspace', { repository }, { 'if-match': '"0"' });
    assert.equal(
      (await call('POST', '/v1/agents', { id: 'fixer', project: 'lab', definition: {} })).status,
      201,
    );
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const call = <Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => dispatcher.call<Body>(method, path, body, headers);
  const cron = (more: object = {}) => ({ kind: 'cron', pattern: '0 9 * * *', ...more });
  const makeTrigger = async (when: object, more: object = {}) => {
    const definition = { name: 'a trigger', agent: 'fixer', task: 'Look into it.', when, ...more };
    const made = await call<TriggerView & Problem>('POST', '/v1/triggers', { project: 'lab', definition });
    assert.equal(made.status, 201, made.body.detail);
    return made.body;
  };
  const list = async (query: string) =>
    (await call<{ deliveries: DeliveryView[] }>('GET', `/v1/deliveries?limit=100&${query}`)).body.deliveries;
  const settled = async (query: string, count: number) => {
    let found: DeliveryView[] = [];
    await within(30_000, `${count} deliveries of ${query}`, async () => {
      found = await list(query);
      return found.length >= count && found.every(({ state }) => state !== 'pending');
    });
    return found;
  };
  const event = (id: string, more: object = {}) => ({
    specversion: '1.0',
    id,
    source: '/ci',
    type: 'org.example.build.failed',
    data: { branch: 'main' },
    ...more,
  });
  const makeHook = async (source: string, more: object = {}) => {
    const made = await call<HookView & { secret: string } & Problem>('POST', '/v1/hooks', {
      project: 'lab',
      source,
      definition: { name: source, ...more },
      secret,
    });
    assert.equal(made.status, 201, made.body.detail);
    return made.body;
  };
  const send = async (hook: string, { headers, body }: RawDelivery) => {
    const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/hooks/${hook}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body,
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const github = (text: string, id: string, more: object = {}) =>
    fromGithub(webhookBodies.githubComment(text, more), { secret, event: 'issue_comment', id });
  const link = (source: string, account: string) =>
    call('PUT', '/v1/account-links', { source, account, subject: 'p-1' }, { 'if-match': '"0"' });
  const ofHook = async (hook: string, count: number) => {
    let found: DeliveryView[] = [];
    await within(30_000, `${count} deliveries of ${hook}`, async () => {
      found = (await list('project=lab')).filter((one) => one.hook === hook);
      return found.length >= count && found.every(({ state }) => state !== 'pending');
    });
    return found;
  };

  test('a schedule fires each time once, whatever dispatchers there are, and goes on after a restart', async () => {
    const trigger = await makeTrigger(cron({ misfire: 'all' }));
    assert.ok(trigger.nextAt !== null);
    const others = await Promise.all([fleet.startDispatcher(variables), fleet.startDispatcher(variables)]);
    await fleet.sql(`UPDATE triggers SET next_slot = now() - interval '50 hours' WHERE id = $1`, [
      trigger.id,
    ]);
    const missed = await settled(`trigger=${trigger.id}`, 2);
    assert.ok(
      missed.length <= 3 && missed.every(({ state, cause }) => state === 'started' && cause === 'cron'),
    );
    const slots = await fleet.sql('SELECT slot FROM schedule_slots WHERE trigger_id = $1', [trigger.id]);
    assert.equal(slots.length, missed.length);
    // As if a dispatcher had died between firing and noting when it is due next.
    await fleet.sql(`UPDATE triggers SET next_slot = now() - interval '50 hours' WHERE id = $1`, [
      trigger.id,
    ]);
    await within(30_000, 'the schedule is due in the future again', async () => {
      const [row] = await fleet.sql<{ due: boolean }>(
        'SELECT next_slot <= now() AS due FROM triggers WHERE id = $1',
        [trigger.id],
      );
      return row?.due === false;
    });
    assert.equal((await list(`trigger=${trigger.id}`)).length, missed.length);
    const [newest] = missed;
    const order = await orderOf(server, newest?.session ?? '');
    assert.match(order.instruction, /^Look into it\.[^]*The schedule was due at/);
    for (const other of others) await other.stop();
  });

  test('what was missed is made up for as the policy says', async () => {
    for (const [misfire, count] of [
      ['skip', 0],
      ['once', 1],
    ] as const) {
      const trigger = await makeTrigger(cron({ misfire }));
      // The day before yesterday; the newest time is more than a minute ago but for one minute of the day.
      await fleet.sql(
        `UPDATE triggers SET next_slot = date_trunc('day', now()) - interval '2 days',
           definition = jsonb_set(definition, '{when,pattern}', to_jsonb(to_char(now() - interval '2 hours', 'MI HH24 * * *')))
         WHERE id = $1`,
        [trigger.id],
      );
      await within(30_000, `${misfire} is dealt with`, async () => {
        const [row] = await fleet.sql<{ due: boolean }>(
          'SELECT next_slot <= now() AS due FROM triggers WHERE id = $1',
          [trigger.id],
        );
        return row?.due === false;
      });
      assert.equal((await list(`trigger=${trigger.id}`)).length, count, misfire);
    }
  });

  test('an event sets off what it fits, once by its id and once by its content', async () => {
    const filters = [{ prefix: { type: 'org.example.' } }, { exact: { 'data.branch': 'main' } }];
    const trigger = await makeTrigger({ kind: 'event', filters });
    const post = (body: object) =>
      call<{ duplicate: boolean; deliveries: string[] } & Problem>('POST', '/v1/events?project=lab', body);
    const first = await post(event('1'));
    assert.deepEqual([first.status, first.body.duplicate, first.body.deliveries.length], [202, false, 1]);
    assert.deepEqual((await post(event('1', { data: { branch: 'main', x: 1 } }))).body, {
      duplicate: true,
      deliveries: [],
    });
    assert.deepEqual((await post(event('2', { data: { branch: 'other' } }))).body.deliveries, []);
    assert.equal((await post({ ...event('3'), specversion: '0.3' })).status, 400);
    const [started] = await settled(`trigger=${trigger.id}`, 1);
    const order = await orderOf(server, started?.session ?? '');
    assert.match(order.instruction, /What happened, as data[^]*org\.example\.build\.failed/);
    const tried = await call<{ matches: boolean; unmatched: string[] }>('POST', '/v1/triggers/try', {
      project: 'lab',
      when: { kind: 'event', filters },
      event: event('4', { data: { branch: 'other' } }),
    });
    assert.deepEqual(tried.body.unmatched, ['{"exact":{"data.branch":"main"}}']);
    const times = await call<{ next: string[] }>('POST', '/v1/triggers/try', {
      project: 'lab',
      when: cron({ timeZone: 'Europe/Berlin' }),
    });
    assert.equal(times.body.next.length, 5);
    assert.equal((await list(`trigger=${trigger.id}`)).length, 1);
    const path = `/v1/triggers/${trigger.id}`;
    assert.equal((await call('PUT', path, trigger.definition, { 'if-match': '"9"' })).status, 412);
    assert.equal((await call('DELETE', path, undefined, { 'if-match': '"1"' })).status, 204);
    assert.deepEqual((await post(event('5'))).body.deliveries, []);
  });

  test('events are taken as one document and as headers with data, as CloudEvents sends them', async () => {
    const filters = [{ exact: { type: 'org.example.modes' } }, { exact: { 'data.branch': 'main' } }];
    const trigger = await makeTrigger({ kind: 'event', filters });
    const path = '/v1/events?project=lab';
    const type = 'org.example.modes';
    const structured = await call<{ deliveries: string[] }>('POST', path, event('m1', { type }), {
      'content-type': 'application/cloudevents+json; charset=utf-8',
    });
    assert.deepEqual([structured.status, structured.body.deliveries.length], [202, 1]);
    const attributes = { 'ce-specversion': '1.0', 'ce-id': 'm2', 'ce-source': '/ci', 'ce-type': type };
    const binary = (more: Record<string, string> = {}, data: object = { branch: 'main' }) =>
      call<{ duplicate: boolean; deliveries: string[] } & Problem>('POST', path, data, {
        ...attributes,
        ...more,
      });
    const first = await binary();
    assert.deepEqual([first.status, first.body.deliveries.length], [202, 1]);
    assert.equal((await binary()).body.duplicate, true);
    for (const [fault, more] of [
      ['a NUL', { 'ce-id': 'm3', 'ce-extra': '%00' }],
      ['no UTF-8', { 'ce-id': 'm3', 'ce-subject': '%ff' }],
      ['an unknown version', { 'ce-id': 'm3', 'ce-specversion': '0.3' }],
      ['data that is no JSON', { 'ce-id': 'm3', 'content-type': 'text/plain' }],
    ] as const) {
      const refused = await binary(more);
      assert.deepEqual([refused.status, refused.body.code], [400, 'request_invalid'], fault);
    }
    const batch = { 'content-type': 'application/cloudevents-batch+json' };
    assert.equal((await call('POST', path, [event('m4', { type })], batch)).status, 400);
    assert.equal((await settled(`trigger=${trigger.id}`, 2)).length, 2);
  });

  test('an object that enters a status sets off a trigger of the workspace', async () => {
    const filters = [
      { exact: { type: 'lemniscate.object.changed' } },
      { exact: { 'data.changed.status.to': 'review' } },
    ];
    const trigger = await makeTrigger({ kind: 'event', filters });
    const { body: object } = await call<ObjectView>('POST', '/v1/objects', { project: 'lab', title: 'T' });
    await call('PATCH', `/v1/objects/${object.id}`, { status: 'doing' }, { 'if-match': '"1"' });
    await call('PATCH', `/v1/objects/${object.id}`, { status: 'review' }, { 'if-match': '"2"' });
    const [only, ...more] = await settled(`trigger=${trigger.id}`, 1);
    assert.deepEqual([only?.object, only?.state, more.length], [object.id, 'started', 0]);
  });

  test('an owner who may not act any more puts the trigger out of use', async () => {
    const filters = [{ exact: { type: 'org.example.orphan' } }];
    const trigger = await makeTrigger({ kind: 'event', filters });
    await fleet.sql(`UPDATE triggers SET owner = 'gone' WHERE id = $1`, [trigger.id]);
    await call('POST', '/v1/events?project=lab', event('o1', { type: 'org.example.orphan' }));
    const [refused] = await settled(`trigger=${trigger.id}`, 1);
    assert.deepEqual([refused?.state, refused?.reason], ['refused', 'owner_disabled']);
    const read = async () => (await call<TriggerView>('GET', `/v1/triggers/${trigger.id}`)).body;
    assert.deepEqual([(await read()).enabled, (await read()).disabledReason], [false, 'owner_disabled']);
    const again = await makeTrigger(cron());
    await fleet.sql(`UPDATE triggers SET owner = 'revoked-one' WHERE id = $1`, [again.id]);
    await call('PUT', '/v1/revocations/revoked-one', {});
    await within(30_000, 'the trigger of a revoked person is out of use', async () => {
      const { body } = await call<TriggerView>('GET', `/v1/triggers/${again.id}`);
      return !body.enabled && body.disabledReason === 'owner_disabled';
    });
  });

  test('a trigger that a program made runs as that program, within its scopes and until its token ends', async () => {
    const make = async (...scopes: string[]) => {
      const body = { name: 'ci', project: 'lab', roles: ['member'], scopes, expiresInDays: 1 };
      const made = await call<{ id: string; token: string } & Problem>('POST', '/v1/tokens', body);
      assert.equal(made.status, 201, made.body.detail);
      return made.body;
    };
    const triggerOf = async ({ token }: { token: string }, type: string) => {
      const when = { kind: 'event', filters: [{ exact: { type } }] };
      const definition = { name: 'of a program', agent: 'fixer', task: 'Look into it.', when };
      const made = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/triggers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ project: 'lab', definition }),
      });
      assert.equal(made.status, 201);
      return (await made.json()) as TriggerView;
    };
    const whole = await make('triggers:write', 'sessions:write');
    const trigger = await triggerOf(whole, 'org.example.program');
    assert.equal(trigger.owner, `token:${whole.id}`);
    const fire = (id: string, type: string) => call('POST', '/v1/events?project=lab', event(id, { type }));
    await fire('p1', 'org.example.program');
    const [started] = await settled(`trigger=${trigger.id}`, 1);
    assert.equal(started?.state, 'started', started?.message ?? '');
    const opened = await fleet.session(started?.session ?? '');
    assert.equal(opened.openedBy, `token:${whole.id}`);
    const narrow = await triggerOf(await make('triggers:write'), 'org.example.narrow');
    await fire('p2', 'org.example.narrow');
    const [beyond] = await settled(`trigger=${narrow.id}`, 1);
    assert.deepEqual([beyond?.state, beyond?.reason], ['refused', 'owner_not_member']);
    assert.match(beyond?.message ?? '', /does not have the scope sessions:write/);
    assert.equal((await call('DELETE', `/v1/tokens/${whole.id}`)).status, 204);
    await fire('p3', 'org.example.program');
    const after = await settled(`trigger=${trigger.id}`, 2);
    assert.deepEqual(new Set(after.map(({ reason }) => reason)), new Set([null, 'owner_disabled']));
    const { body } = await call<TriggerView>('GET', `/v1/triggers/${trigger.id}`);
    assert.deepEqual([body.enabled, body.disabledReason], [false, 'owner_disabled']);
  });

  test('a mention on GitHub starts a session once, of a member only, and draws issue and thread', async () => {
    const hook = await makeHook('github');
    assert.equal(hook.secret, secret);
    const unknown = await send(hook.id, github('@fixer look', 'g-0', { id: 1 }));
    assert.deepEqual([unknown.status, unknown.body['state']], [200, 'taken']);
    const [stranger] = await ofHook(hook.id, 1);
    assert.deepEqual([stranger?.state, stranger?.reason], ['refused', 'actor_unknown']);
    assert.equal((await link('github', 'octo-pat')).status, 204);
    assert.equal((await send(hook.id, github('@fixer look again', 'g-1', { id: 2 }))).body['state'], 'taken');
    const [started] = await ofHook(hook.id, 2);
    assert.deepEqual([started?.state, started?.actor?.id], ['started', 'github:Octo-Pat']);
    const same = github('@fixer look again', 'g-1', { id: 2 });
    assert.equal((await send(hook.id, same)).body['state'], 'duplicate', 'the same delivery again');
    const replayed = { ...same, headers: { ...same.headers, 'x-github-delivery': 'g-2' } };
    assert.equal(
      (await send(hook.id, replayed)).body['state'],
      'duplicate',
      'the same bytes under another id',
    );
    const order = await orderOf(server, started?.session ?? '');
    assert.match(order.instruction, /issue "Wrong sum" \(https:\/\/github\.com\/org\/app\/issues\/12\)/);
    assert.match(order.instruction, /github:Octo-Pat \(not a member: data, no instruction\)[^]*look again/);
    assert.deepEqual(order.repository, { kind: 'git', url: 'https://github.com/org/app.git' });
    await beginSession(server, order);
    await finishSession(server, order, 'It was add().');
    const object = started?.object ?? '';
    let thread: CommentView[] = [];
    await within(30_000, 'the answer is a comment', async () => {
      thread = (await call<{ comments: CommentView[] }>('GET', `/v1/objects/${object}/comments`)).body
        .comments;
      return thread.length === 3;
    });
    assert.deepEqual(
      thread.map(({ createdBy }) => createdBy.id),
      ['github:Octo-Pat', 'github:Octo-Pat', 'fixer'],
    );
    const drawn = await call<ObjectView>('GET', `/v1/objects/${object}`);
    assert.deepEqual(
      [drawn.body.source, drawn.body.sourceKey, drawn.body.type, drawn.body.labels],
      ['github', 'org/app#12', 'issue', ['bug']],
    );
    // Somebody's program carries the answer to GitHub, and GitHub tells us of it.
    await send(hook.id, github('It was add().', 'g-3', { id: 3 }));
    const [own] = await ofHook(hook.id, 5);
    assert.deepEqual([own?.state, own?.reason], ['refused', 'own_comment']);
  });

  test('what is not signed is refused, on record within a bound, and starts nothing', async () => {
    const hook = await makeHook('github');
    for (let turn = 0; turn < 25; turn += 1) {
      const forged = github('@fixer look', `f-${turn}`, { id: 500 + turn });
      const sent = { ...forged, body: Buffer.from(forged.body.toString().replace('look', 'l00k')) };
      assert.equal((await send(hook.id, sent)).status, 401);
    }
    const refused = await ofHook(hook.id, 20);
    assert.equal(refused.length, 20);
    assert.ok(refused.every(({ reason, state }) => state === 'refused' && reason === 'signature_refused'));
    const broken = Buffer.from('{"action":');
    const unreadable = fromGithub({}, { secret, event: 'issues', id: 'u' });
    assert.equal((await send(hook.id, { ...unreadable, body: broken })).status, 401);
    assert.equal((await send(`hook_${'0'.repeat(26)}`, unreadable)).status, 404);
    const large = fromGithub({ a: 'x'.repeat(3_000_000) }, { secret, event: 'issues', id: 'l' });
    assert.equal((await send(hook.id, large)).status, 413);
  });

  test('labels and failed pipelines set off triggers, on GitLab as on GitHub', async () => {
    const hook = await makeHook('gitlab');
    await link('gitlab', 'lab.pat');
    const label = await makeTrigger({
      kind: 'event',
      filters: [{ exact: { type: 'gitlab.label.added' } }, { exact: { 'data.label': 'agent' } }],
    });
    const failed = await makeTrigger({ kind: 'event', filters: [{ suffix: { type: '.pipeline.failed' } }] });
    await send(hook.id, fromGitlab(webhookBodies.gitlabLabels([], ['agent', 'x']), { secret, id: 'l-1' }));
    await send(hook.id, fromGitlab(webhookBodies.gitlabPipeline('failed'), { secret, id: 'l-2' }));
    await send(hook.id, fromGitlab(webhookBodies.gitlabPipeline('success'), { secret, id: 'l-3' }));
    const [labelled] = await settled(`trigger=${label.id}`, 1);
    assert.deepEqual([labelled?.cause, labelled?.state], ['label', 'started']);
    const [pipeline] = await settled(`trigger=${failed.id}`, 1);
    assert.deepEqual([pipeline?.cause, pipeline?.state], ['pipeline', 'started']);
  });

  test('an answer in a thread of GitLab goes on with it; Slack’s mention of the app asks the hook’s agent', async () => {
    const gitlab = await makeHook('gitlab');
    await send(
      gitlab.id,
      fromGitlab(webhookBodies.gitlabNote('@fixer why?', { id: 70 }), { secret, id: 'n-1' }),
    );
    const [first] = await ofHook(gitlab.id, 1);
    const order = await orderOf(server, first?.session ?? '');
    await beginSession(server, order);
    await finishSession(server, order, 'Because.');
    await within(30_000, 'the answer is there', async () => {
      const { body } = await call<{ comments: CommentView[] }>(
        'GET',
        `/v1/objects/${first?.object}/comments`,
      );
      return body.comments.length === 2;
    });
    await send(
      gitlab.id,
      fromGitlab(webhookBodies.gitlabNote('And then?', { id: 71 }), { secret, id: 'n-2' }),
    );
    const [second] = await ofHook(gitlab.id, 2);
    assert.deepEqual([second?.cause, second?.state], ['reply', 'started']);

    const slack = await makeHook('slack', { agent: 'fixer' });
    await link('slack', 'U7');
    const challenge = fromSlack({ type: 'url_verification', challenge: 'c-1' }, { secret });
    assert.deepEqual((await send(slack.id, challenge)).body, { state: 'challenge', challenge: 'c-1' });
    await send(slack.id, fromSlack(webhookBodies.slackMention('what is wrong?'), { secret }));
    const [mention] = await ofHook(slack.id, 1);
    assert.deepEqual([mention?.cause, mention?.agent, mention?.state], ['mention', 'fixer', 'started']);
    const old = fromSlack(webhookBodies.slackMention('again', { event: 'Ev2' }), {
      secret,
      at: new Date(Date.now() - 3_600_000),
    });
    assert.equal((await send(slack.id, old)).status, 401);
    const [stale] = await ofHook(slack.id, 2);
    assert.equal(stale?.reason, 'stale');
  });

  test('the secret of a hook is nowhere in the record or its log', async () => {
    for (const table of ['hooks', 'credentials', 'deliveries', 'receipts'])
      for (const { line } of await fleet.sql<{ line: string }>(`SELECT t::text AS line FROM ${table} t`))
        assert.ok(!line.includes(secret) && !line.includes(Buffer.from(secret).toString('hex')), table);
    const entries = await fleet.sql<{ line: string }>(
      `SELECT convert_from(body, 'UTF8') AS line FROM audit_entries WHERE type = 'hook.changed'`,
    );
    assert.ok(entries.length >= 4 && entries.every(({ line }) => !line.includes(secret)));
  });
});
