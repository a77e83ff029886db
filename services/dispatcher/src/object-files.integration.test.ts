import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { z } from 'zod';
import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import type {
  CommentView,
  objectHistorySchema,
  objectWithFilesSchema,
} from '@lemniscate/shared/api/object.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { UploadAnswer } from '@lemniscate/shared/protocol/session-result.ts';
import { beginSession, finishSession, orderOf } from './testing/played-session.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

type ObjectWithFiles = z.infer<typeof objectWithFilesSchema>;

describe('files on objects', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 20 }] });
    dispatcher = await fleet.startDispatcher();
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    for (const id of ['lab', 'elsewhere']) await call('POST', '/v1/projects', { id });
    const { repository } = ordinaryRequest;
    await call('PUT', '/v1/projects/lab/workspace', { repository }, { 'if-match': '"0"' });
    await call('POST', '/v1/agents', { id: 'drawer', project: 'lab', definition: {} });
  });
  after(() => fleet.remove());

  const call = <Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => dispatcher.call<Body>(method, path, body, headers);
  const picture = 'not really a picture';
  const file = {
    path: 'plots/sum.png',
    sha256: createHash('sha256').update(picture).digest('hex'),
    bytes: Buffer.byteLength(picture),
  };
  /** Ends a session that has written the picture. */
  const endWithPicture = async (order: SessionOrder): Promise<void> => {
    const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
    const { sha256, bytes } = file;
    const { body } = (await server.post(`${base}/uploads`, { sha256, bytes })) as { body: UploadAnswer };
    if (body.put !== null) {
      const sent = await fetch(body.put.url, { method: 'PUT', headers: body.put.headers, body: picture });
      assert.equal(sent.status, 200);
      await server.post(`${base}/uploads/${body.uploadId}/complete`, {});
    }
    await beginSession(server, order);
    await finishSession(server, order, 'Drawn.', 'finished', { files: [file] });
  };
  const make = async (project: string, more: object = {}) => {
    const made = await call<ObjectWithFiles & Problem>('POST', '/v1/objects', {
      project,
      title: 'Draw it',
      ...more,
    });
    assert.equal(made.status, 201, made.body.detail);
    return made.body.id;
  };
  const read = async (object: string) => (await call<ObjectWithFiles>('GET', `/v1/objects/${object}`)).body;
  const entries = async () =>
    (
      await fleet.sql<{ body: string }>(
        `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'object.attached' ORDER BY seq`,
      )
    ).map(({ body }) => (JSON.parse(body) as { body: Record<string, unknown> }).body);

  test('what an agent writes for an object hangs on it by link, with its type, and is on record', async () => {
    const object = await make('lab', { assignee: { kind: 'agent', id: 'drawer' } });
    const started = async () =>
      (await call<{ deliveries: DeliveryView[] }>('GET', `/v1/deliveries?object=${object}`)).body
        .deliveries[0]?.session ?? null;
    await within(30_000, 'its session has started', async () => (await started()) !== null);
    const session = (await started()) ?? '';
    await endWithPicture(await orderOf(server, session));
    await within(30_000, 'the file hangs on the object', async () => (await read(object)).files.length > 0);
    const [attached, ...more] = (await read(object)).files;
    assert.equal(more.length, 0);
    assert.deepEqual(
      [attached?.path, attached?.session, attached?.bytes, attached?.type, attached?.attachedBy],
      [file.path, session, file.bytes, 'image/png', { kind: 'agent', id: 'drawer' }],
    );
    const got = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${attached?.url}`, {
      headers: { authorization: `Bearer ${fleet.token}` },
    });
    assert.deepEqual([got.headers.get('content-type'), await got.text()], ['image/png', picture]);
    const { body: thread } = await call<{ comments: CommentView[] }>('GET', `/v1/objects/${object}/comments`);
    assert.match(thread.comments[0]?.body ?? '', /Files: plots\/sum\.png/);
    const { body: history } = await call<z.infer<typeof objectHistorySchema>>(
      'GET',
      `/v1/objects/${object}/history`,
    );
    assert.deepEqual(
      history.acts.filter(({ act }) => act === 'attached').map(({ by, detail }) => [by, detail]),
      [
        [
          { kind: 'agent', id: 'drawer' },
          { session, files: [file.path] },
        ],
      ],
    );
    assert.deepEqual(await entries(), [{ object, session, files: 1, actorKind: 'agent', agent: 'drawer' }]);
  });

  test('a person attaches a file of a session of the same project, once, and of no other', async () => {
    const opened = await call<{ id: string }>('POST', '/v1/sessions', { ...ordinaryRequest, project: 'lab' });
    await endWithPicture(await orderOf(server, opened.body.id));
    const before = (await entries()).length;
    const [object, foreign] = [await make('lab'), await make('elsewhere')];
    const attach = (to: string, path = file.path) =>
      call<ObjectWithFiles & Problem>('POST', `/v1/objects/${to}/files`, { session: opened.body.id, path });
    for (let times = 0; times < 2; times += 1) {
      const done = await attach(object);
      assert.deepEqual(
        [done.status, done.body.files.map(({ path, attachedBy }) => [path, attachedBy.kind])],
        [200, [[file.path, 'person']]],
      );
    }
    assert.equal((await attach(object, 'none.png')).status, 404);
    const refused = await attach(foreign);
    assert.deepEqual([refused.status, refused.body.code], [404, 'not_found']);
    assert.deepEqual((await entries()).slice(before), [
      { object, session: opened.body.id, files: 1, actorKind: 'person' },
    ]);
  });
});
