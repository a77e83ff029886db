import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import type { InboxItem } from '@lemniscate/shared/api/inbox.ts';
import type { CommentView, ObjectView } from '@lemniscate/shared/api/object.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { beginSession, callTool, finishSession, orderOf } from './testing/played-session.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { logInByRole } from './testing/role-logins.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const policy =
  'tools: {read_object: allow, comment_object: allow, set_object_status: allow}\ncontinueAfterToolRejection: true';

describe('the workspace that agents share with people', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    dispatcher = await fleet.startDispatcher({ LEMNISCATE_AGENT_STARTS_PER_HOUR: '8' });
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    assert.equal((await call('POST', '/v1/projects', { id: 'lab', policy })).status, 201);
    const repository = { kind: 'git', url: 'https://example.invalid/r.git' };
    const set = await call('PUT', '/v1/projects/lab/workspace', { repository }, { 'if-match': '"0"' });
    assert.equal(set.status, 200);
    for (const id of ['fixer', 'critic', 'busy'])
      assert.equal((await call('POST', '/v1/agents', { id, project: 'lab', definition: {} })).status, 201);
  });
  after(() => fleet.remove());

  const call = <Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => dispatcher.call<Body>(method, path, body, headers);
  const create = async (more: object = {}) => {
    const made = await call<ObjectView & Problem>('POST', '/v1/objects', {
      project: 'lab',
      title: 'Wrong sum',
      body: 'It says 3.',
      ...more,
    });
    assert.equal(made.status, 201, made.body.detail);
    return made.body;
  };
  const comment = async (object: string, body: string, replyTo?: string) => {
    const made = await call<CommentView & Problem>('POST', `/v1/objects/${object}/comments`, {
      body,
      replyTo,
    });
    assert.equal(made.status, 201, made.body.detail);
    return made.body;
  };
  const comments = async (object: string) =>
    (await call<{ comments: CommentView[] }>('GET', `/v1/objects/${object}/comments`)).body.comments;
  const deliveries = async (object: string) =>
    (await call<{ deliveries: DeliveryView[] }>('GET', `/v1/deliveries?object=${object}`)).body.deliveries;
  const inbox = async (query = '') =>
    (await call<{ items: InboxItem[] }>('GET', `/v1/inbox?limit=100&${query}`)).body.items;
  /** The newest delivery about the object, when it has been dealt with. */
  const settled = async (object: string, count = 1) => {
    let found: DeliveryView[] = [];
    await within(30_000, `${count} deliveries about ${object} are settled`, async () => {
      found = await deliveries(object);
      return found.length >= count && found.every(({ state }) => state !== 'pending');
    });
    return found;
  };
  const startedBy = async (object: string, count = 1): Promise<SessionOrder> => {
    const [newest] = await settled(object, count);
    assert.equal(newest?.state, 'started', `${newest?.reason}: ${newest?.message}`);
    const order = await orderOf(server, newest?.session ?? '');
    await beginSession(server, order);
    return order;
  };
  const settledComments = async (object: string, count: number) => {
    let found: CommentView[] = [];
    await within(30_000, `${count} comments on ${object}`, async () => {
      found = await comments(object);
      return found.length >= count;
    });
    return found;
  };

  test('objects are versioned: a change names the version that it saw, and lists go on from cursors', async () => {
    const object = await create({ labels: ['bug'], type: 'bug' });
    assert.deepEqual([object.version, object.status, object.source], [1, 'open', 'workspace']);
    const path = `/v1/objects/${object.id}`;
    assert.equal((await call('PATCH', path, { title: 'x' })).status, 428);
    const changed = await call<ObjectView>('PATCH', path, { status: 'doing' }, { 'if-match': '"1"' });
    assert.deepEqual([changed.status, changed.body.version, changed.body.status], [200, 2, 'doing']);
    assert.equal((await call('PATCH', path, { status: 'done' }, { 'if-match': '"1"' })).status, 412);
    const same = await call<ObjectView>('PATCH', path, { status: 'doing' }, { 'if-match': '"2"' });
    assert.equal(same.body.version, 2);
    const others = [object, ...(await Promise.all([1, 2, 3].map(() => create({ type: 'bug' }))))];
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body }: { body: { objects: ObjectView[]; nextCursor: string | null } } = await call(
        'GET',
        `/v1/objects?project=lab&type=bug&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...body.objects.map(({ id }) => id));
      cursor = body.nextCursor;
    }
    assert.deepEqual(
      seen,
      others
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
    const history = await call<{ acts: { act: string; detail: object }[] }>('GET', `${path}/history`);
    assert.deepEqual(
      history.body.acts.map(({ act }) => act),
      ['changed', 'created'],
    );
    assert.deepEqual(history.body.acts[0]?.detail, { status: { from: 'open', to: 'doing' } });
    assert.equal((await call('GET', `/v1/objects/obj_${'0'.repeat(26)}`)).status, 404);
  });

  test('an agent that is given an object works on it, comments, sets its status, and answers', async () => {
    const object = await create();
    await comment(object.id, 'Look at add().');
    assert.deepEqual(await deliveries(object.id), []);
    const assignee = { kind: 'agent', id: 'fixer' };
    await call('PATCH', `/v1/objects/${object.id}`, { assignee }, { 'if-match': '"1"' });
    const order = await startedBy(object.id);
    assert.deepEqual([order.surface, order.interactive], ['trigger', false]);
    assert.match(order.instruction, /Wrong sum[^]*It says 3\.[^]*p-1[^]*Look at add\(\)/);
    assert.ok(order.tools.includes('comment_object'));
    const read = await callTool(server, order, 'read_object', {});
    assert.ok(read.verdict === 'go' && /Look at add/.test(read.result?.text ?? ''));
    assert.equal((await callTool(server, order, 'set_object_status', { status: 'doing' })).verdict, 'go');
    const said = await callTool(server, order, 'comment_object', { text: 'It was add().' }, 'once');
    assert.deepEqual(
      await callTool(server, order, 'comment_object', { text: 'It was add().' }, 'once'),
      said,
    );
    await finishSession(server, order, 'Mended.');
    const thread = await settledComments(object.id, 3);
    assert.deepEqual(
      thread.map(({ createdBy, body }) => [createdBy.kind, createdBy.id, body]),
      [
        ['person', 'p-1', 'Look at add().'],
        ['agent', 'fixer', 'It was add().'],
        ['agent', 'fixer', 'Mended.'],
      ],
    );
    const now = await call<ObjectView>('GET', `/v1/objects/${object.id}`);
    assert.equal(now.body.status, 'doing');
    const [result] = await inbox('kind=result');
    assert.deepEqual([result?.session, result?.object], [order.sessionId, object.id]);
    const entries = await fleet.sql<{ type: string; subject: string }>(
      `SELECT type, convert_from(body, 'UTF8')::jsonb ->> 'subject' AS subject FROM audit_entries
       WHERE chain = 'review:lab' AND convert_from(body, 'UTF8')::jsonb -> 'body' ->> 'object' = $1 ORDER BY seq`,
      [object.id],
    );
    assert.deepEqual(
      entries.filter(({ subject }) => subject === 'spiffe://lemniscate/agent/fixer').map(({ type }) => type),
      ['object.changed', 'object.commented', 'object.commented'],
    );
    const acts = await call<{ acts: { act: string; by: { kind: string; id: string } }[] }>(
      'GET',
      `/v1/objects/${object.id}/history`,
    );
    assert.deepEqual(acts.body.acts.map(({ act, by }) => `${act} ${by.id}`).toReversed(), [
      'created p-1',
      'commented p-1',
      'changed p-1',
      'session_started p-1',
      'changed fixer',
      'commented fixer',
      'commented fixer',
    ]);
  });

  test('a mention shows at once and starts a session; an answer goes on with the thread in a new one', async () => {
    const object = await create();
    const asked = await comment(object.id, 'Could @fixer look? Not `@critic`.');
    const [shown] = await inbox('kind=mention');
    assert.equal(shown?.comment, asked.id);
    const first = await startedBy(object.id);
    await finishSession(server, first, 'Which one?');
    const [, question] = await settledComments(object.id, 2);
    assert.equal(question?.replyTo, asked.id);
    await comment(object.id, 'The second.', question?.id);
    const second = await startedBy(object.id, 2);
    assert.notEqual(second.sessionId, first.sessionId);
    assert.match(second.instruction, /answered your comment[^]*Which one\?[^]*The second\./);
    await finishSession(server, second, 'Done.');
    const marked = await call<InboxItem>('PUT', `/v1/inbox/${shown?.id}`, { read: true });
    assert.ok(marked.body.readAt !== null && marked.body.doneAt === null);
    await call('PUT', `/v1/inbox/${shown?.id}`, { done: true });
    assert.ok(!(await inbox()).some(({ id }) => id === shown?.id));
    assert.ok((await inbox('show=done')).some(({ id }) => id === shown?.id));
  });

  test('whoever does not belong to a project reads nothing of it in their inbox, whoever names them', async () => {
    assert.equal((await call('POST', '/v1/projects', { id: 'closed' })).status, 201);
    const logins = await logInByRole(fleet, dispatcher, 'lab');
    const inboxOf = async () => {
      const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/inbox`, {
        headers: { authorization: `Bearer ${logins.get('member')}` },
      });
      return (await answer.json()) as { items: InboxItem[]; unread: number };
    };
    const name = async (project: string, title: string) => {
      const { body } = await call<ObjectView>('POST', '/v1/objects', {
        project,
        title,
        assignee: { kind: 'person', id: 'member' },
      });
      await comment(body.id, 'What does @member think?');
    };
    await name('closed', 'The takeover');
    assert.deepEqual(await inboxOf().then(({ items, unread }) => [items, unread]), [[], 0]);
    const [hidden] = await fleet.sql<{ id: string }>(`SELECT id FROM inbox_items WHERE subject = 'member'`);
    const marked = await fetch(`http://127.0.0.1:${dispatcher.publicPort}/v1/inbox/${hidden?.id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${logins.get('member')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ read: true }),
    });
    assert.equal(marked.status, 404);
    await name('lab', 'The lamp');
    const { items, unread } = await inboxOf();
    assert.deepEqual([items.map(({ kind }) => kind).toSorted(), unread], [['assignment', 'mention'], 2]);
    assert.ok(items.every(({ title }) => title.includes('The lamp')));
  });

  test('an agent never starts itself, chains of agents end, and each refusal says why', async () => {
    const object = await create();
    await comment(object.id, '@fixer go');
    let order = await startedBy(object.id);
    const own = await callTool(server, order, 'comment_object', { text: 'I, @fixer, think so.' });
    assert.equal(own.verdict, 'go');
    assert.deepEqual(
      (await settled(object.id, 2)).map(({ state, reason }) => [state, reason]),
      [
        ['refused', 'own_comment'],
        ['started', null],
      ],
    );
    const agents = ['critic', 'fixer', 'critic', 'fixer'];
    for (const [turn, agent] of agents.entries()) {
      await finishSession(server, order, `@${agent} go on`);
      const [newest] = await settled(object.id, 3 + turn);
      if (turn < 3) order = await startedBy(object.id, 3 + turn);
      else assert.deepEqual([newest?.state, newest?.reason], ['refused', 'loop_depth']);
    }
    const refused = await fleet.sql(
      `SELECT 1 FROM audit_entries WHERE chain = 'review:lab' AND type = 'delivery.refused'`,
    );
    assert.equal(refused.length, 2);
  });

  test('starts of one agent are limited, and what cannot start says so', async () => {
    const object = await create();
    for (let turn = 0; turn < 9; turn += 1) await comment(object.id, `@busy ${turn}`);
    const all = await settled(object.id, 9);
    assert.equal(all.filter(({ state }) => state === 'started').length, 8);
    assert.deepEqual(
      all.filter(({ state }) => state === 'refused').map(({ reason }) => reason),
      ['rate_limited'],
    );
    const { body: other } = await call<Problem>('POST', '/v1/projects', { id: 'bare' });
    assert.ok(other);
    const homeless = await create({ project: 'bare', assignee: { kind: 'agent', id: 'default' } });
    const [refusal] = await settled(homeless.id);
    assert.equal(refusal?.reason, 'repository_missing');
    const unknown = await create({ assignee: { kind: 'agent', id: 'nobody' } });
    const [gone] = await settled(unknown.id);
    assert.equal(gone?.reason, 'agent_unknown');
  });

  test('the policy judges the tools of an object like any other, and a session without one has none', async () => {
    const strict = 'tools: {set_object_status: exclude}\ncontinueAfterToolRejection: true';
    assert.equal((await call('POST', '/v1/projects', { id: 'strict', policy: strict })).status, 201);
    const object = await create({
      project: 'strict',
      assignee: { kind: 'agent', id: 'default' },
      repository: { kind: 'git', url: 'https://example.invalid/r.git' },
    });
    const order = await startedBy(object.id);
    assert.ok(!order.tools.includes('set_object_status'));
    assert.equal(
      (await callTool(server, order, 'set_object_status', { status: 'done' })).verdict,
      'forbidden',
    );
    const asks = await callTool(server, order, 'comment_object', { text: 'x' });
    assert.deepEqual([asks.verdict, 'decidedBy' in asks && asks.decidedBy], ['rejected', 'automation']);
    assert.deepEqual(await comments(object.id), []);
    const direct = await call<{ id: string }>('POST', '/v1/sessions', {
      instruction: 'x',
      project: 'lab',
      repository: { kind: 'git', url: 'https://example.invalid/r.git' },
    });
    const plain = await orderOf(server, direct.body.id);
    assert.ok(!plain.tools.includes('read_object'));
  });

  test('a wish that two dispatchers see is one session, and one that failed in between is none', async () => {
    const second = await fleet.startDispatcher();
    const object = await create();
    await Promise.all([0, 1, 2].map((n) => comment(object.id, `@critic ${n}`)));
    const all = await settled(object.id, 3);
    assert.equal(new Set(all.map(({ session }) => session)).size, 3);
    const sessions = await fleet.sql('SELECT 1 FROM sessions WHERE object_id = $1', [object.id]);
    assert.equal(sessions.length, 3);
    await second.stop();
  });
});
