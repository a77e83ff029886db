import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { projectRoles } from '@lemniscate/shared/identity/roles.ts';
import { objectKey } from './application/ports/object-store.ts';
import { logInByRole } from './testing/role-logins.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const secret = 'what only their own project knows';
const path = 'a-name-that-tells/plans.md';
const sizeOfIt = Buffer.byteLength(secret);
const writer = `s_${'7'.repeat(26)}`;
const carry = `carry_${'7'.repeat(26)}`;

/** Every way in which a memory is asked for; `P` is the project. */
const asks: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/v1/projects/P/agents/shared/memory'],
  ['GET', '/v1/projects/P/agents/shared/memory?version=1'],
  ['GET', '/v1/projects/P/agents/shared/memory?version=999'],
  ['GET', '/v1/projects/P/agents/shared/memory/versions'],
  ['GET', `/v1/projects/P/agents/shared/memory/content?path=${encodeURIComponent(path)}`],
  ['GET', '/v1/projects/P/agents/shared/memory/content?path=none.md'],
  ['GET', '/v1/projects/P/agents/shared/memory/proposals'],
  ['GET', '/v1/projects/P/agents/shared/memory/carries'],
  ['POST', '/v1/projects/P/agents/shared/memory/restore', { version: 1 }],
  ['POST', `/v1/projects/P/agents/shared/memory/proposals/${writer}`, { decision: 'accept' }],
  ['POST', `/v1/projects/P/agents/shared/memory/carries/${carry}`, { decision: 'accept' }],
  ['POST', '/v1/projects/P/agents/shared/memory/carries', { from: 'mine' }],
  // into the own project, which is where a member has rights
  ['POST', '/v1/projects/mine/agents/shared/memory/carries', { from: 'P' }],
  ['POST', '/v1/projects/mine/agents/shared/memory/carries', { from: 'P', paths: [path] }],
  ['POST', '/v1/projects/mine/agents/shared/memory/carries', { from: 'P', paths: ['none.md'] }],
  ['POST', '/v1/projects/mine/agents/shared/memory/carries', { from: 'P', version: 999 }],
];

describe('the memory of a project that somebody is no member of', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let logins: ReadonlyMap<string, string>;
  before(async () => {
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher();
    for (const id of ['mine', 'theirs', 'empty'])
      assert.equal((await dispatcher.call('POST', '/v1/projects', { id })).status, 201);
    const agent = { id: 'shared', project: '*', definition: { memory: 'auto' } };
    assert.equal((await dispatcher.call('POST', '/v1/agents', agent)).status, 201);
    await store('theirs', secret);
    const files = [
      { path, sha256: digestOf(secret), bytes: sizeOfIt, session: writer, at: '2026-01-01T00:00:00.000Z' },
    ];
    await fleet.sql(
      `INSERT INTO memories (agent_id, project_id, version, files, session_id, changed_by)
       VALUES ('shared', 'theirs', 1, $1, NULL, 'somebody')`,
      [JSON.stringify(files)],
    );
    logins = await logInByRole(fleet, dispatcher, 'mine');
  });
  after(() => fleet.remove());

  const announce = (project: string, text: string, role?: string) =>
    call('POST', `/v1/uploads?project=${project}`, { sha256: digestOf(text), bytes: text.length }, role);
  const store = async (project: string, text: string, role?: string): Promise<void> => {
    const announced = JSON.parse((await announce(project, text, role)).text) as {
      uploadId: string;
      put: { url: string; headers: Record<string, string> };
    };
    const { put, uploadId } = announced;
    assert.equal((await fetch(put.url, { method: 'PUT', headers: put.headers, body: text })).status, 200);
    assert.equal((await call('POST', `/v1/uploads/${uploadId}/complete`, {}, role)).status, 200);
  };
  /** Whole, as somebody who guesses sees it. Without a role: the administrator. */
  const call = async (method: string, where: string, body?: object, role?: string) => {
    const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${where}`, {
      method,
      headers: {
        authorization: `Bearer ${role === undefined ? fleet.token : logins.get(role)}`,
        'if-match': '"1"',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    // A request's own number and the moment differ with every answer.
    const headers = Object.fromEntries(
      [...answer.headers].filter(([name]) => !/^(date|x-request-id|ratelimit-.*|traceparent)$/.test(name)),
    );
    return { status: answer.status, headers, text };
  };
  const about = async (ask: (typeof asks)[number], project: string, role?: string) => {
    const [method, where, body] = ask;
    const fill = (text: string): string => text.replaceAll('/P/', `/${project}/`);
    const filled =
      body !== undefined && 'from' in body && body.from === 'P' ? { ...body, from: project } : body;
    const answer = await call(method, fill(where), filled, role);
    // The name that was asked for, and what follows from its length, come from the asker.
    const { 'content-length': length, ...headers } = answer.headers;
    const text = answer.text.replaceAll(project, '…').replaceAll(/"(instance|requestId)":"[^"]*"/g, '');
    return { status: answer.status, headers, text, beyond: Number(length) - answer.text.length };
  };

  test('whoever has the right to look sees that there is one: the asks of this file tell it apart', async () => {
    const [ask] = asks;
    assert.ok(ask);
    assert.match((await about(ask, 'theirs')).text, new RegExp(`${path}.*${sizeOfIt}`));
    assert.notDeepEqual(await about(ask, 'theirs'), await about(ask, 'empty'));
    assert.notDeepEqual(await about(ask, 'theirs'), await about(ask, 'absent'));
  });

  for (const role of projectRoles)
    test(`a ${role} of another project gets one answer, whether there is a memory, none, or no project`, async () => {
      for (const ask of asks) {
        const full = await about(ask, 'theirs', role);
        assert.ok(
          full.status === 403 || full.status === 404,
          `${ask.join(' ')}: ${full.status} ${full.text}`,
        );
        for (const hidden of [path, digestOf(secret), writer])
          assert.ok(!full.text.includes(hidden) || JSON.stringify(ask).includes(hidden), full.text);
        assert.deepEqual(await about(ask, 'empty', role), full, `empty: ${ask.join(' ')}`);
        assert.deepEqual(await about(ask, 'absent', role), full, `absent: ${ask.join(' ')}`);
      }
    });

  test('the refusal comes before the memory is read, so that its size costs no time', async () => {
    // No clock is read: with the table taken away, an answer that looks into it fails.
    await fleet.sql('ALTER TABLE memories RENAME TO memories_away');
    try {
      const [ask] = asks;
      assert.ok(ask);
      assert.equal((await about(ask, 'theirs')).status, 500, 'an answer that looks into it fails now');
      for (const role of projectRoles)
        for (const one of asks) {
          const { status, text } = await about(one, 'theirs', role);
          assert.ok(status === 403 || status === 404, `${one.join(' ')} as ${role}: ${status} ${text}`);
        }
    } finally {
      await fleet.sql('ALTER TABLE memories_away RENAME TO memories');
    }
  });

  test('an upload does not tell that another project has the very bytes', async () => {
    const putOf = async (text: string): Promise<string | undefined> => {
      const answer = await announce('mine', text, 'member');
      assert.equal(answer.status, 200, answer.text);
      return (JSON.parse(answer.text) as { put: { url: string } | null }).put?.url;
    };
    const known = await putOf(secret);
    const unknown = await putOf('what nobody has');
    assert.ok(known !== undefined && unknown !== undefined, 'both are to be sent');
    await store('mine', secret, 'member');
    assert.equal(await putOf(secret), undefined, 'within the own project it is told');
    assert.notEqual(objectKey('mine', digestOf(secret)), objectKey('theirs', digestOf(secret)));
  });
});
