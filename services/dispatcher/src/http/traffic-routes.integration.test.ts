import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Agent, request } from 'undici';
import type { AttemptClaim } from '../application/events/live-attempt.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { servePeople, serveServers } from '../testing/traffic/apps.ts';
import { createTestRecord } from '../testing/traffic/record.ts';
import type { TestRecord } from '../testing/traffic/record.ts';
import { openTestSession } from '../testing/traffic/session.ts';
import { registerApprovalRoutes } from './approvals-routes.ts';
import { registerDiffRoutes } from './diffs-routes.ts';
import { registerEventIngestRoutes } from './events-routes.ts';
import { registerPermitRoutes } from './permits-routes.ts';
import { registerResultRoutes } from './results-routes.ts';
import { registerAttemptUploadRoutes, registerUploadRoutes } from './uploads-routes.ts';

let record: TestRecord;
let people: Awaited<ReturnType<typeof servePeople>>;
let internal: Awaited<ReturnType<typeof serveServers>>;
const agents = new Map<'a' | 'b', Agent>();
before(async () => {
  record = await createTestRecord();
  people = await servePeople(record.newId, (app) => {
    registerApprovalRoutes(app, record);
    registerDiffRoutes(app, record);
    registerUploadRoutes(app, record);
  });
  internal = await serveServers(record.newId, (app) => {
    registerEventIngestRoutes(app, record);
    registerPermitRoutes(app, record);
    registerResultRoutes(app, { ...record, settleUsage: () => Promise.resolve() });
    registerAttemptUploadRoutes(app, record);
  });
  for (const name of ['a', 'b'] as const) agents.set(name, new Agent({ connect: internal.servers[name] }));
});
after(async () => {
  await Promise.all([...agents.values()].map((agent) => agent.close()));
  await Promise.all([people.close(), internal.close()]);
  await record.close();
});

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

async function answerOf(sent: ReturnType<typeof request>): Promise<Answer> {
  const { statusCode, headers, body } = await sent;
  const text = await body.text();
  const type = String(headers['content-type']);
  return {
    status: statusCode,
    type,
    text,
    body: type.includes('json') ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

const asPerson = (
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
  person = 'ada',
  accept = 'application/json',
) =>
  answerOf(
    request(`http://127.0.0.1:${people.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${person}`,
        accept,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
const asServer = (claim: AttemptClaim, what: string, body: unknown, server: 'a' | 'b' = 'a') =>
  answerOf(
    request(
      `https://127.0.0.1:${internal.port}/internal/sessions/${claim.sessionId}/attempts/${claim.attempt}/${what}`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        dispatcher: agents.get(server) ?? assert.fail(),
      },
    ),
  );
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const proposal = (waitMs: number) => ({
  callId: 'c1',
  turn: 1,
  tool: 'read_file',
  arguments: { path: 'a' },
  argumentsDigest: argumentsDigest({ path: 'a' }),
  waitMs,
});

test('a foreign server is stale at every door, and a broken batch is told what is wrong', async () => {
  const claim = await openTestSession(record);
  const batch = { firstSeq: 1, events: [{ at: 'x', event: { type: 'turn', turn: 1 } }] };
  const result = { reason: 'finished', message: '', diff: null, patch: null, timingsMs: {} };
  const upload = { sha256: sha256('x'), bytes: 1 };
  for (const [what, body] of [
    ['events', batch],
    ['permits', proposal(0)],
    ['result', result],
    ['uploads', upload],
    ['uploads/upl_1/complete', {}],
  ] as const) {
    const answer = await asServer(claim, what, body, 'b');
    assert.deepEqual([answer.status, answer.body['code']], [409, 'attempt_stale'], what);
  }
  assert.equal(
    (await asServer(claim, 'events', { firstSeq: 0, events: [] })).body['code'],
    'request_invalid',
  );
  assert.equal((await asServer(claim, 'events', '{"firstSeq":')).body['code'], 'request_invalid');
  const many = { firstSeq: 1, events: Array.from({ length: 1001 }, () => batch.events[0]) };
  assert.equal((await asServer(claim, 'events', many)).body['code'], 'request_invalid');
  const large = JSON.stringify({ ...batch, padding: 'x'.repeat(4 * 1024 * 1024) });
  assert.equal((await asServer(claim, 'events', large)).status, 413);
  assert.deepEqual((await asServer(claim, 'events', batch)).body, {
    acknowledgedSeq: 1,
    commands: [],
    pause: false,
  });
});

test('from the question over the held permit to the answer, through the doors of both sides', async () => {
  const claim = await openTestSession(record, { interactive: true });
  const held = asServer(claim, 'permits', proposal(20_000));
  const path = `/v1/sessions/${claim.sessionId}/approvals`;
  let approvals: Record<string, unknown>[] = [];
  while (approvals.length === 0)
    approvals = (await asPerson('GET', path)).body['approvals'] as Record<string, unknown>[];
  const [approval] = approvals;
  const waiting = (await asPerson('GET', '/v1/approvals')).body['approvals'] as unknown[];
  assert.equal(waiting.length, 1);
  const decision = { decision: 'approve', argumentsDigest: approval?.['argumentsDigest'] };
  const decide = (person: string) =>
    asPerson('POST', `${path}/${String(approval?.['id'])}`, decision, person);
  assert.equal((await decide('robot')).body['code'], 'forbidden');
  assert.equal((await decide('ada')).body['state'], 'approved');
  assert.equal((await decide('ada')).body['code'], 'approval_decided');
  const answer = await held;
  assert.deepEqual([answer.body['verdict'], answer.body['decidedBy']], ['go', 'human']);
});

test('a diff as JSON and as a patch, accepted by name', async () => {
  const claim = await openTestSession(record);
  const patch = '--- a/x\n+++ b/x\n';
  const diff = {
    sha256: sha256(patch),
    bytes: patch.length,
    baseCommit: 'a'.repeat(40),
    baseTree: 'b'.repeat(40),
    files: [{ path: 'Makefile', change: 'modified', insertions: 1, deletions: 0, flags: [] }],
    insertions: 1,
    deletions: 0,
  };
  const result = {
    reason: 'finished',
    message: 'done',
    diff,
    patch: { kind: 'inline', base64: Buffer.from(patch).toString('base64') },
    timingsMs: {},
  };
  const path = `/v1/sessions/${claim.sessionId}/diff`;
  assert.equal((await asPerson('GET', path)).body['code'], 'diff_missing');
  assert.deepEqual((await asServer(claim, 'result', result)).body, { accepted: true });
  const shown = await asPerson('GET', path);
  assert.equal(Buffer.from(String(shown.body['patchBase64']), 'base64').toString(), patch);
  assert.equal(shown.body['state'], 'offered');
  const raw = await asPerson('GET', path, undefined, 'ada', 'text/x-diff');
  assert.deepEqual([raw.type, raw.text], ['text/x-diff', patch]);
  const accept = { sha256: diff.sha256, flaggedFiles: ['Makefile'] };
  const unnamed = await asPerson('POST', `${path}/accept`, { sha256: diff.sha256 });
  assert.equal(unnamed.body['code'], 'request_invalid');
  assert.equal((await asPerson('POST', `${path}/accept`, accept)).body['state'], 'accepted');
  assert.equal((await asPerson('POST', `${path}/reject`)).body['code'], 'diff_decided');
});

test('uploads of a person and of a live attempt, and nobody else’s', async () => {
  const claim = await openTestSession(record);
  const content = { sha256: sha256('bundle'), bytes: 6 };
  for (const [announce, complete] of [
    [
      () => asPerson('POST', '/v1/uploads', content),
      (id: string, other: boolean) =>
        asPerson('POST', `/v1/uploads/${id}/complete`, {}, other ? 'eve' : 'ada'),
    ],
    [
      () => asServer(claim, 'uploads', { ...content, sha256: sha256('second') }),
      (id: string, other: boolean) => asServer(claim, `uploads/${id}/complete`, {}, other ? 'b' : 'a'),
    ],
  ] as const) {
    const upload = (await announce()).body as {
      uploadId: string;
      put: { url: string; headers: Record<string, string> };
    };
    const body =
      upload.put.headers['x-amz-checksum-sha256'] === Buffer.from(content.sha256, 'hex').toString('base64')
        ? 'bundle'
        : 'second';
    assert.equal((await complete(upload.uploadId, false)).body['code'], 'conflict');
    const sent = await fetch(upload.put.url, { method: 'PUT', body, headers: upload.put.headers });
    assert.equal(sent.status, 200);
    assert.ok((await complete(upload.uploadId, true)).status >= 400);
    assert.deepEqual((await complete(upload.uploadId, false)).body, { sha256: sha256(body) });
  }
  const unknown = await asPerson('POST', '/v1/uploads?project=nowhere', content);
  assert.equal(unknown.body['code'], 'project_unknown');
});
