import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { memoryBounds } from '@lemniscate/shared/agents/folder.ts';
import type { AgentView, SkillView } from '@lemniscate/shared/api/agent.ts';
import type { MemoryView } from '@lemniscate/shared/api/memory.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { UploadAnswer } from '@lemniscate/shared/protocol/session-result.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const fileOf = (path: string, text: string) => ({
  path,
  sha256: digestOf(text),
  bytes: Buffer.byteLength(text),
});

describe('agents, their skills, memory and files', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 20 }] });
    dispatcher = await fleet.startDispatcher();
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
  });
  after(() => fleet.remove());

  /** Both ways of uploading: a person's, and a live attempt's. */
  const upload = async (text: string, order?: SessionOrder): Promise<void> => {
    const base = order === undefined ? '' : `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    const post = async <Body>(path: string, body: object) =>
      order === undefined
        ? dispatcher.call<Body>('POST', `/v1${path}`, body)
        : ((await server.post(`${base}${path}`, body)) as { status: number; body: Body });
    const announced = await post<UploadAnswer>('/uploads', {
      sha256: digestOf(text),
      bytes: Buffer.byteLength(text),
    });
    assert.equal(announced.status, 200, JSON.stringify(announced.body));
    const { put, uploadId } = announced.body;
    if (put === null) return;
    const sent = await fetch(put.url, { method: 'PUT', headers: put.headers, body: text });
    assert.equal(sent.status, 200);
    assert.equal((await post(`/uploads/${uploadId}/complete`, {})).status, 200);
  };
  const open = async (agent: string, extra: object = {}) => {
    const opened = await dispatcher.call<SessionView & Problem>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      agent,
      ...extra,
    });
    return opened;
  };
  const orderOf = async (id: string): Promise<SessionOrder> => {
    const find = () => server.orders.find(({ order }) => order.sessionId === id)?.order;
    await within(30_000, `session ${id} is ordered`, () => find() !== undefined);
    const order = find();
    assert.ok(order);
    return order;
  };
  const end = async (order: SessionOrder, collected: object, reason = 'finished') => {
    const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    await server.post(`${base}/events`, {
      firstSeq: 1,
      events: [
        {
          at: new Date().toISOString(),
          event: { type: 'running', driver: 'simulated', warm: true, timingsMs: {} },
        },
      ],
    });
    return server.post(`${base}/result`, {
      reason,
      message: 'Done.',
      diff: null,
      patch: null,
      collected,
      timingsMs: {},
    });
  };
  const define = (id: string, definition: object, project = '*') =>
    dispatcher.call<AgentView & Problem>('POST', '/v1/agents', { id, project, definition });
  const memory = async (agent: string) =>
    (await dispatcher.call<MemoryView>('GET', `/v1/projects/local/agents/${agent}/memory`)).body;

  const skill = '---\nname: release-notes\ndescription: Writes release notes.\n---\nSee [more](more.md).';

  test('a skill is pushed as files and checked; the same again is no new version', async () => {
    const push = (files: object[], name = 'release-notes', seen = 0) =>
      dispatcher.call<SkillView & Problem>(
        'PUT',
        `/v1/projects/local/skills/${name}`,
        { files },
        { 'if-match': `"${seen}"` },
      );
    const files = [fileOf('SKILL.md', skill), fileOf('more.md', 'more')];
    assert.equal((await push(files)).status, 404);
    await upload(skill);
    await upload('more');
    const first = await push(files);
    assert.deepEqual(
      [first.status, first.body.version, first.body.description],
      [200, 1, 'Writes release notes.'],
    );
    assert.equal((await push(files.toReversed())).body.version, 1);
    const unseen = await push([fileOf('SKILL.md', skill), fileOf('more.md', skill)]);
    assert.deepEqual([unseen.status, unseen.body.code], [412, 'version_conflict']);
    assert.match((await push([fileOf('SKILL.md', skill)])).body.detail, /links to files.*more\.md/);
    assert.match((await push([fileOf('more.md', 'more')])).body.detail, /no SKILL\.md/);
    assert.match((await push(files, 'other')).body.detail, /its name is "release-notes"/);
    assert.equal((await push([...files, { ...fileOf('../x', 'more') }])).status, 400);
    const pulled = await dispatcher.call<{ addresses: Record<string, string> }>(
      'GET',
      '/v1/projects/local/skills/release-notes',
    );
    const address = pulled.body.addresses[digestOf('more')];
    assert.equal(await (await fetch(address ?? '')).text(), 'more');
    // An empty file under the digest of somebody else's bytes opens nothing of theirs.
    await upload('of somebody else');
    const peek = { path: 'peek', sha256: digestOf('of somebody else'), bytes: 0 };
    assert.equal((await push([...files, peek], 'release-notes', 1)).body.version, 2);
    const peeked = await dispatcher.call<{ addresses: Record<string, string> }>(
      'GET',
      '/v1/projects/local/skills/release-notes',
    );
    assert.deepEqual(
      new Set(Object.keys(peeked.body.addresses)),
      new Set([digestOf(skill), digestOf('more')]),
    );
  });

  test('an agent has versions, each change names the one it saw; a session freezes agent and skills', async () => {
    const made = await define('writer', {
      systemPrompt: 'You write release notes.',
      tools: ['read_file', 'write_file'],
      skills: [{ name: 'release-notes' }],
      memory: 'auto',
    });
    assert.deepEqual([made.status, made.body.version], [201, 1], JSON.stringify(made.body));
    assert.equal((await define('writer', {})).status, 409);
    const opened = await open('writer');
    assert.deepEqual(opened.body.agent, { id: 'writer', version: 1 });
    const change = (definition: object, seen: string) =>
      dispatcher.call<AgentView & Problem>('PUT', '/v1/agents/writer', definition, { 'if-match': seen });
    assert.equal(
      (await change({ ...made.body.definition, systemPrompt: 'Shorter.' }, '"1"')).body.version,
      2,
    );
    assert.equal((await change(made.body.definition, '"1"')).body.code, 'version_conflict');
    assert.equal((await dispatcher.call('PUT', '/v1/agents/writer', made.body.definition)).status, 428);

    const order = await orderOf(opened.body.id);
    assert.match(order.systemPrompt, /You write release notes\./);
    assert.match(
      order.systemPrompt,
      /release-notes \(\/home\/agent\/skills\/release-notes\/SKILL\.md\): Writes/,
    );
    assert.deepEqual(order.tools, ['read_file', 'write_file']);
    assert.deepEqual(
      order.attachments?.map(({ folder, files }) => [folder, files.length]),
      [
        ['skills/release-notes', 3],
        ['memory', 0],
      ],
    );
    const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    const given = (await server.post(`${base}/objects`, {
      digests: [digestOf(skill), digestOf('something else of the project'), digestOf('of somebody else')],
    })) as { body: { addresses: Record<string, string> } };
    assert.deepEqual(Object.keys(given.body.addresses), [digestOf(skill)]);
    assert.equal((await end(order, { memory: [], files: [] })).status, 200);
    const cost = await fleet.sql<{ agent: string }>('SELECT agent FROM sessions WHERE id = $1', [
      order.sessionId,
    ]);
    assert.equal(cost[0]?.agent, 'writer');
  });

  test('unknown, foreign and disabled agents open nothing; a missing skill is named', async () => {
    await dispatcher.call('POST', '/v1/projects', { id: 'elsewhere' });
    await define('foreign', {}, 'elsewhere');
    await define('off', { disabled: true });
    await define('needy', { skills: [{ name: 'nowhere' }] });
    for (const agent of ['nobody', 'foreign', 'off'])
      assert.equal((await open(agent)).body.code, 'agent_unknown', agent);
    assert.match((await open('needy')).body.detail, /"nowhere"/);
    assert.equal(
      (await define('secret', { credentials: [{ name: 'TOKEN', reference: 'hunter2' }] })).status,
      400,
    );
  });

  test('memory: what a session leaves is there for the next; two at once are merged, and nothing is lost', async () => {
    await define('keeper', { memory: 'auto' });
    const first = await orderOf((await open('keeper')).body.id);
    await upload('one', first);
    await end(first, { memory: [fileOf('notes.md', 'one')] });
    const kept = await memory('keeper');
    assert.deepEqual(
      [kept.version, kept.files.map(({ path, session }) => [path, session])],
      [1, [['notes.md', first.sessionId]]],
    );

    const [left, right] = [
      await orderOf((await open('keeper')).body.id),
      await orderOf((await open('keeper')).body.id),
    ];
    assert.deepEqual(left.attachments?.at(-1)?.files, [fileOf('notes.md', 'one')]);
    await upload('left', left);
    await upload('right', right);
    await Promise.all([
      end(left, { memory: [fileOf('notes.md', 'left'), fileOf('left.md', 'left')] }),
      end(right, { memory: [fileOf('notes.md', 'right')] }),
    ]);
    const merged = await memory('keeper');
    assert.equal(merged.version, 3);
    const contents = new Set(merged.files.map(({ sha256 }) => sha256));
    assert.ok(contents.has(digestOf('left')) && contents.has(digestOf('right')));
    const told = await Promise.all([fleet.session(left.sessionId), fleet.session(right.sessionId)]);
    assert.ok(told.some(({ message }) => message?.includes('both are kept') === true));

    // Bytes that were never sent, a stop, and bounds leave the former version whole.
    const third = await orderOf((await open('keeper')).body.id);
    assert.equal((await end(third, { memory: [fileOf('x', 'never sent')] })).status, 404);
    const stopped = await dispatcher.call('POST', `/v1/sessions/${third.sessionId}/stop`, {});
    assert.equal(stopped.status, 200);
    const fourth = await orderOf((await open('keeper')).body.id);
    await end(fourth, { memory: [] }, 'model_failed');
    assert.equal((await memory('keeper')).version, 3);

    const restored = await dispatcher.call<MemoryView & Problem>(
      'POST',
      '/v1/projects/local/agents/keeper/memory/restore',
      { version: 1 },
      { 'if-match': '"3"' },
    );
    assert.deepEqual([restored.body.version, restored.body.files.length], [4, 1]);
    const old = await dispatcher.call<MemoryView>('GET', '/v1/projects/local/agents/keeper/memory?version=3');
    assert.equal(old.body.files.length, merged.files.length);
    const { body } = await dispatcher.call<{ address: string }>(
      'GET',
      '/v1/projects/local/agents/keeper/memory/content?path=notes.md',
    );
    assert.equal(await (await fetch(body.address)).text(), 'one');
    const entries = await fleet.sql(`SELECT 1 FROM audit_entries WHERE type = 'memory.changed'`);
    assert.equal(entries.length, 4);
  });

  test('memory with review waits for a person', async () => {
    await define('careful', { memory: 'review' });
    const order = await orderOf((await open('careful')).body.id);
    await upload('fact', order);
    await end(order, { memory: [fileOf('fact.md', 'fact')] });
    assert.equal((await memory('careful')).version, 0);
    const path = '/v1/projects/local/agents/careful/memory/proposals';
    const waiting = await dispatcher.call<{ proposals: { session: string }[] }>('GET', path);
    assert.deepEqual(
      waiting.body.proposals.map(({ session }) => session),
      [order.sessionId],
    );
    const decide = () =>
      dispatcher.call<{ version: number }>('POST', `${path}/${order.sessionId}`, { decision: 'accept' });
    assert.equal((await decide()).body.version, 1);
    assert.equal((await decide()).status, 404);
    const other = await orderOf((await open('careful')).body.id);
    await upload('rumour', other);
    await end(other, { memory: [fileOf('rumour.md', 'rumour')] });
    const rejected = await dispatcher.call<{ version: number }>('POST', `${path}/${other.sessionId}`, {
      decision: 'reject',
    });
    assert.equal(rejected.body.version, 1);
    const [entry] = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'admin.acted' ORDER BY at DESC LIMIT 1`,
    );
    assert.match(entry?.body ?? '', /"act":"memory_rejected"/);
    assert.ok(entry?.body.includes(other.sessionId));
  });

  test('what a person accepts and a full memory cannot take waits on, and is not lost', async () => {
    await define('hoarder', { memory: 'review' });
    const order = await orderOf((await open('hoarder')).body.id);
    await upload('one more', order);
    await end(order, { memory: [fileOf('one-more.md', 'one more')] });
    // meanwhile others have filled it
    await fleet.sql(
      `INSERT INTO memories (agent_id, project_id, version, files, changed_by)
       SELECT 'hoarder', 'local', 1, jsonb_agg(jsonb_build_object('path', 'f' || n || '.md', 'sha256', $1::text, 'bytes', 1,
         'session', NULL, 'at', now())), 'ada' FROM generate_series(1, $2::int) n`,
      ['a'.repeat(64), memoryBounds.files],
    );
    const path = '/v1/projects/local/agents/hoarder/memory/proposals';
    const waiting = async () =>
      (await dispatcher.call<{ proposals: object[] }>('GET', path)).body.proposals.length;
    const accept = () =>
      dispatcher.call<Problem>('POST', `${path}/${order.sessionId}`, { decision: 'accept' });
    const refused = await accept();
    assert.deepEqual([refused.status, refused.body.code], [413, 'payload_too_large']);
    assert.match(refused.body.detail, /2001 files; at most 2000.*until then they wait/);
    assert.equal(await waiting(), 1);
    await fleet.sql(`UPDATE memories SET files = '[]' WHERE agent_id = 'hoarder'`);
    assert.equal((await accept()).status, 200);
    assert.equal(await waiting(), 0);
    assert.deepEqual(
      (await memory('hoarder')).files.map(({ path: at }) => at),
      ['one-more.md'],
    );
  });

  test('a crash in the middle of a push leaves the former version whole, and the repeat makes the next', async () => {
    await define('unlucky', { memory: 'auto' });
    const first = await orderOf((await open('unlucky')).body.id);
    await upload('before', first);
    await end(first, { memory: [fileOf('a.md', 'before')] });
    const second = await orderOf((await open('unlucky')).body.id);
    for (const text of ['after', 'more']) await upload(text, second);
    const files = [fileOf('a.md', 'after'), fileOf('b.md', 'more')];

    const lock = `hashtextextended('memory:unlucky:local', 0)`;
    await fleet.sql(`SELECT pg_advisory_lock(${lock})`);
    const pushing = end(second, { memory: files });
    const blocked = () =>
      fleet.sql<{ pid: number }>(
        `SELECT a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database()`,
      );
    await within(30_000, 'the push is in its transaction', async () => (await blocked()).length > 0);
    const [held] = await blocked();
    await fleet.sql('SELECT pg_terminate_backend($1)', [held?.pid]);
    assert.notEqual((await pushing).status, 200);
    const whole = await memory('unlucky');
    assert.deepEqual(
      [whole.version, whole.files.map(({ path, sha256 }) => [path, sha256])],
      [1, [['a.md', digestOf('before')]]],
    );
    await fleet.sql(`SELECT pg_advisory_unlock(${lock})`);
    assert.equal((await end(second, { memory: files })).status, 200);
    const next = await memory('unlucky');
    assert.deepEqual(
      [next.version, next.files.map(({ path, sha256 }) => [path, sha256])],
      [2, files.map(({ path, sha256 }) => [path, sha256])],
    );
  });

  test('what looks like a secret is told in the session’s message and in the log, without the secret', async () => {
    await define('leaky', { memory: 'auto' });
    const order = await orderOf((await open('leaky')).body.id);
    await upload('fine', order);
    const refused = [{ path: 'keys.md', kinds: ['github'] }];
    assert.equal((await end(order, { memory: [fileOf('fine.md', 'fine')], refused })).status, 200);
    const session = await fleet.until(order.sessionId, 'completed');
    assert.match(session.message ?? '', /keys\.md was not remembered: it holds what looks like a secret/);
    assert.deepEqual(
      (await memory('leaky')).files.map(({ path }) => path),
      ['fine.md'],
    );
    const [entry] = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'memory.refused'`,
    );
    assert.match(entry?.body ?? '', /"kinds":\["github"\]/);
  });

  test('memory is carried to another project when a person there has looked at it', async () => {
    await define('traveller', { memory: 'auto' });
    const order = await orderOf((await open('traveller')).body.id);
    await upload('far', order);
    await upload('near', order);
    await end(order, { memory: [fileOf('a.md', 'far'), fileOf('b.md', 'near')] });
    await dispatcher.call('POST', '/v1/projects', { id: 'elsewhere' });
    const base = '/v1/projects/elsewhere/agents/traveller/memory';
    const there = async () => (await dispatcher.call<MemoryView>('GET', base)).body;
    const ask = (body: object) => dispatcher.call<{ id: string } & Problem>('POST', `${base}/carries`, body);
    assert.equal((await ask({ from: 'local', paths: ['none.md'] })).status, 404);
    assert.equal((await ask({ from: 'elsewhere' })).status, 400);
    const asked = await ask({ from: 'local', paths: ['a.md'] });
    assert.equal(asked.status, 201, JSON.stringify(asked.body));
    assert.equal((await there()).version, 0, 'asking carries nothing');
    const decide = (decision: string) =>
      dispatcher.call<{ version: number }>('POST', `${base}/carries/${asked.body.id}`, { decision });
    const unwanted = await ask({ from: 'local', paths: ['b.md'] });
    await dispatcher.call('POST', `${base}/carries/${unwanted.body.id}`, { decision: 'reject' });
    const entries = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'admin.acted' AND chain = 'review:elsewhere'`,
    );
    assert.ok(
      entries.some(({ body }) => body.includes('"memory_rejected"') && body.includes(unwanted.body.id)),
    );
    const decided = await decide('accept');
    assert.equal(decided.body.version, 1, JSON.stringify(decided.body));
    const carried = await there();
    assert.deepEqual(
      carried.files.map(({ path, session }) => [path, session]),
      [['a.md', order.sessionId]],
    );
    const content = await dispatcher.call<{ address: string }>('GET', `${base}/content?path=a.md`);
    assert.equal(await (await fetch(content.body.address)).text(), 'far');
    assert.equal((await decide('accept')).status, 404, 'once is enough');
  });

  test('somebody who is no member writes no memory', async () => {
    await define('guarded', { memory: 'auto' });
    const order = await orderOf((await open('guarded')).body.id);
    await fleet.sql('UPDATE sessions SET memory_writes = false WHERE id = $1', [order.sessionId]);
    await upload('poison', order);
    await end(order, { memory: [fileOf('p.md', 'poison')] });
    assert.equal((await memory('guarded')).version, 0);
    assert.match(
      (await fleet.session(order.sessionId)).message ?? '',
      /only sessions of the project’s members/,
    );
  });

  test('files are listed and downloaded with their type, and never as something that runs', async () => {
    const order = await orderOf((await open('default')).body.id);
    await upload('# Report', order);
    await upload('<script>alert(1)</script>', order);
    await end(order, {
      files: [
        fileOf('report.md', '# Report'),
        fileOf('x/page.html', '<script>alert(1)</script>'),
        fileOf('empty.txt', ''),
      ],
    });
    const listed = await dispatcher.call<{ files: { path: string; type: string }[] }>(
      'GET',
      `/v1/sessions/${order.sessionId}/files`,
    );
    assert.deepEqual(
      listed.body.files.map(({ path, type }) => [path, type]),
      [
        ['empty.txt', 'text/plain; charset=utf-8'],
        ['report.md', 'text/markdown; charset=utf-8'],
        ['x/page.html', 'application/octet-stream'],
      ],
    );
    const get = (path: string) =>
      fetch(
        `http://127.0.0.1:${dispatcher.publicPort}/v1/sessions/${order.sessionId}/files/content?path=${encodeURIComponent(path)}`,
        { headers: { authorization: `Bearer ${fleet.token}` } },
      );
    const report = await get('report.md');
    assert.equal(report.headers.get('content-type'), 'text/markdown; charset=utf-8');
    assert.equal(await report.text(), '# Report');
    const page = await get('x/page.html');
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    assert.match(page.headers.get('content-disposition') ?? '', /^attachment;/);
    assert.equal(await (await get('empty.txt')).text(), '');
    assert.equal((await get('none.md')).status, 404);
  });
});
