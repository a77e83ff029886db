import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { problemSchema } from '@lemniscate/shared/errors/problem.ts';
import { accessTable } from './http/access-table.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];
interface Described {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}
interface Description {
  readonly components?: { readonly schemas?: object };
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses?: Readonly<Record<string, Described>> }>>>
  >;
}

interface Told {
  readonly id?: string;
  readonly detail?: string;
}

/** Answers of these are no JSON documents: streams, pages, files, metrics, and another protocol's messages. */
const otherMedia = (route: string): boolean =>
  route.endsWith('/events') ||
  /^GET \/(console|$)|\/content$|\/metrics$|costs\/export|openapi\.json|\/mcp$|\/login|browser/.test(route);

describe('answers, held against what /openapi.json says of them', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let description: Description;
  let folder: string;
  const fills: Record<string, string> = { project: 'lab', version: '1', chain: 'review:lab' };
  const checked = new Map<string, number>();
  const tagged = new Set<string>();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-described-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher({ LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key') });
    description = (await dispatcher.call<Description>('GET', '/openapi.json')).body;
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const operationOf = (route: string) => {
    const [method = '', pattern = ''] = route.split(' ');
    const operation = description.paths[pattern.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
    assert.ok(operation, `${route} is not described`);
    return operation;
  };

  /** The answer's shape as it is described; null: there is no document described for this status. */
  const shapeOf = (route: string, status: number): z.ZodType | null => {
    const schema = operationOf(route).responses?.[String(status)]?.content?.['application/json']?.schema;
    if (schema === undefined) return null;
    const whole = JSON.stringify({ allOf: [schema], $defs: description.components?.schemas ?? {} });
    const withRefs = JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')) as JsonSchema;
    return z.fromJSONSchema(withRefs);
  };

  /** Asks, and fails where the answer is not as the route's description has it. */
  const ask = async (
    route: string,
    body?: object,
    headers: Record<string, string> = {},
    query = '',
  ): Promise<{ status: number; body: Told }> => {
    const [method = '', pattern = ''] = route.split(' ');
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => fills[name] ?? 'none');
    const answer = await dispatcher.call<Told>(method, `${path}${query}`, body, headers);
    const { status, type } = answer;
    if (status >= 400) {
      assert.match(type ?? '', /^application\/problem\+json/, route);
      problemSchema.parse(answer.body);
      return answer;
    }
    const described = operationOf(route).responses?.[String(status)]?.headers?.['etag'] !== undefined;
    assert.equal(answer.etag !== null, described, `${route} tells its version: ${answer.etag}`);
    if (described) tagged.add(route);
    if (status === 204) return answer;
    const shape = shapeOf(route, status);
    assert.ok(shape !== null, `${route} answers ${status}, which is not described`);
    const parsed = shape.safeParse(answer.body);
    assert.ok(
      parsed.success,
      `${route}: ${JSON.stringify(parsed.error?.issues.slice(0, 3))} of ${JSON.stringify(answer.body).slice(0, 500)}`,
    );
    checked.set(route, status);
    return answer;
  };

  test('a shape that is not described would be found', () => {
    const shape = shapeOf('GET /v1/me', 200);
    assert.equal(shape?.safeParse({ subject: 17 }).success, false);
  });

  test('what is made and changed answers as described', async () => {
    const make = async (name: string, route: string, body: object): Promise<void> => {
      const made = await ask(route, body);
      assert.ok(made.status >= 200 && made.status < 300, `${route}: ${made.body.detail}`);
      if (made.body.id !== undefined) fills[name] = made.body.id;
    };
    const definition = {
      name: 'a trigger',
      agent: 'default',
      task: 'Look.',
      when: { kind: 'event', filters: [{ exact: { type: 'x' } }] },
    };
    const target = {
      name: 'a target',
      place: { kind: 'webhook', url: 'https://bridge.example.invalid/in' },
      events: ['test'],
    };
    await make('project', 'POST /v1/projects', { id: 'lab' });
    await make('id', 'POST /v1/sessions', { ...ordinaryRequest, project: 'lab' });
    await make('agent', 'POST /v1/agents', { id: 'drawer', project: 'lab', definition: {} });
    await make('object', 'POST /v1/objects', { project: 'lab', title: 'A thing' });
    await make('trigger', 'POST /v1/triggers', { project: 'lab', definition });
    await make('hook', 'POST /v1/hooks', { project: 'lab', source: 'github', definition: { name: 'h' } });
    await make('target', 'POST /v1/notify-targets', { project: 'lab', definition: target });
    await make('tokenId', 'POST /v1/tokens', {
      name: 'ci',
      project: 'lab',
      roles: ['member'],
      scopes: ['sessions:read'],
      expiresInDays: 1,
    });
    const first = { 'if-match': '"1"' };
    for (const [route, body, headers] of [
      ['POST /v1/objects/:object/comments', { body: 'Hello.' }, {}],
      ['PATCH /v1/objects/:object', { status: 'doing' }, first],
      ['PUT /v1/agents/:agent', { systemPrompt: 'Draw.' }, first],
      ['PUT /v1/triggers/:trigger', definition, first],
      ['PUT /v1/hooks/:hook', { definition: { name: 'another' } }, first],
      ['PUT /v1/notify-targets/:target', { definition: target }, first],
      ['POST /v1/triggers/try', { project: 'lab', when: definition.when, event: event('1') }, {}],
      ['POST /v1/notify-targets/:target/test', undefined, {}],
      ['POST /v1/uploads', { sha256: 'a'.repeat(64), bytes: 1 }, {}],
      ['POST /v1/sessions/:id/stop', undefined, {}],
    ] as const) {
      const answer = await ask(route, body, headers);
      assert.ok(answer.status < 300, `${route}: ${answer.status} ${answer.body.detail}`);
    }
    const sent = await ask('POST /v1/events', event('2'), {}, '?project=lab');
    assert.equal(sent.status, 202);
  });

  test('every route that can be read answers as described', async () => {
    const readable = Object.keys(accessTable).filter(
      (route) => route.startsWith('GET ') && !otherMedia(route),
    );
    const project = fills['project'] ?? '';
    const session = fills['id'] ?? '';
    const unread: string[] = [];
    for (const route of readable) {
      // `:id` is a project's, a session's or a server's.
      fills['id'] = route.includes('/v1/projects/') ? project : session;
      const query = /costs\/|audit\/search|proofs/.test(route)
        ? '?from=2026-01-01&to=2027-01-01&chain=review:lab&index=0&size=1&first=1&second=1&by=project'
        : '';
      const { status } = await ask(route, undefined, {}, query);
      if (status >= 300) unread.push(`${route} ${status}`);
    }
    // What a new fleet has none of; each of these is a problem document, and was checked as one.
    assert.deepEqual(
      unread.filter((line) => !line.endsWith(' 404') && !line.endsWith(' 400')),
      [],
    );
    assert.ok(tagged.size >= 15, `${tagged.size} answers told their version: ${[...tagged].join(', ')}`);
    assert.ok(checked.size >= 70, `${checked.size} answers were checked; not read: ${unread.join(', ')}`);
  });
});

const event = (id: string) => ({ specversion: '1.0', id, source: '/ci', type: 'org.example.x' });
