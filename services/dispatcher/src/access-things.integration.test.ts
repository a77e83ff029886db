import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { projectRoles } from '@lemniscate/shared/identity/roles.ts';
import type { ProjectRole } from '@lemniscate/shared/identity/roles.ts';
import { accessTable } from './http/access-table.ts';
import { logInByRole } from './testing/role-logins.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

// Routes of which only their handler knows the project: the table lets in whoever has a role somewhere.

/** Valid bodies, so that a request comes as far as the look at the thing. */
const triggerDefinition = {
  name: 'a trigger',
  agent: 'default',
  task: 'Look.',
  when: { kind: 'event', filters: [{ exact: { type: 'x' } }] },
};
const targetDefinition = {
  name: 'a target',
  place: { kind: 'webhook', url: 'https://bridge.example.invalid/in' },
  events: ['test'],
};
const bodies: Readonly<Record<string, object>> = {
  'PUT /v1/agents/:agent': {},
  'PUT /v1/agents/:agent/credentials/:name': { value: 'a-value-of-a-credential' },
  'POST /v1/agents/:agent/remote-tools/approve': { tools: [{ name: 'a/b', digest: 'a'.repeat(64) }] },
  'PATCH /v1/objects/:object': { status: 'doing' },
  'POST /v1/objects/:object/comments': { body: 'Hello.' },
  'POST /v1/objects/:object/files': { session: `s_${'0'.repeat(26)}`, path: 'a.md' },
  'PUT /v1/triggers/:trigger': triggerDefinition,
  'PUT /v1/hooks/:hook': { definition: { name: 'a hook' } },
  'PUT /v1/notify-targets/:target': { definition: targetDefinition },
};
/** Their things belong to whoever made them, or to the fleet, and not to a project. */
const ofNoProject = ['POST /v1/uploads/:uploadId/complete', 'DELETE /v1/servers/:id'];

const things = ['agent', 'object', 'trigger', 'hook', 'target', 'tokenId'] as const;
type Things = Readonly<Record<(typeof things)[number], string>>;
const walked = Object.entries(accessTable).flatMap(([route, row]) =>
  typeof row !== 'string' && row.of === 'somewhere' && route.includes(':') && !ofNoProject.includes(route)
    ? [{ route, row }]
    : [],
);

describe('things of a project, by routes that name nothing but the thing', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let folder: string;
  let logins: ReadonlyMap<string, string>;
  const made = new Map<string, Things>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-access-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [] });
    dispatcher = await fleet.startDispatcher({ LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key') });
    for (const project of ['own', 'other']) {
      assert.equal((await dispatcher.call('POST', '/v1/projects', { id: project })).status, 201);
      made.set(project, await makeThings(project));
    }
    logins = await logInByRole(fleet, dispatcher, 'own');
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const makeThings = async (project: string): Promise<Things> => {
    const make = async (path: string, body: object): Promise<string> => {
      const answer = await dispatcher.call<{ id: string; detail: string }>('POST', path, body);
      assert.equal(answer.status, 201, answer.body.detail);
      return answer.body.id;
    };
    return {
      agent: await make('/v1/agents', { id: `agent-of-${project}`, project, definition: {} }),
      object: await make('/v1/objects', { project, title: 'A thing' }),
      trigger: await make('/v1/triggers', { project, definition: triggerDefinition }),
      hook: await make('/v1/hooks', { project, source: 'github', definition: { name: 'a hook' } }),
      target: await make('/v1/notify-targets', { project, definition: targetDefinition }),
      tokenId: await make('/v1/tokens', {
        name: 'a token',
        project,
        roles: ['member'],
        scopes: ['sessions:read'],
        expiresInDays: 1,
      }),
    };
  };

  const ask = async (route: string, of: Things, role: ProjectRole) => {
    const [method = '', pattern = ''] = route.split(' ');
    const fills: Readonly<Record<string, string>> = {
      ...of,
      version: '1',
      name: 'TOKEN',
      message: `msg_${'0'.repeat(32)}`,
    };
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => fills[name] ?? assert.fail(name));
    const body = bodies[route];
    const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${logins.get(role)}`,
        // A version that nothing has: whoever may change the thing is told so, and nothing is changed.
        'if-match': '"999"',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { code = null, detail = '' } = text.startsWith('{"type"')
      ? (JSON.parse(text) as { code?: string; detail?: string })
      : {};
    return { status: answer.status, code, detail };
  };
  /** As if there were no such thing: the same for a stranger's and for none at all. */
  const isHidden = ({ code, detail }: Awaited<ReturnType<typeof ask>>, thing: string): boolean =>
    (code === 'not_found' || code === 'agent_unknown') &&
    !/no message|no version|has no credential|has a tool/.test(detail)
      ? detail.includes(thing)
      : false;

  test('every such route is walked, and every thing in it is one of these', () => {
    assert.ok(walked.length >= 25);
    for (const { route } of walked)
      assert.ok(
        things.some((thing) => route.includes(`:${thing}`)),
        `${route}: make its thing in makeThings, or name it in ofNoProject`,
      );
  });

  test(`${walked.length} routes × ${projectRoles.length} roles: own things are there, those of another project are not`, async () => {
    const wrong: string[] = [];
    for (const { route, row } of walked)
      for (const role of projectRoles)
        for (const project of ['own', 'other']) {
          const of = made.get(project);
          assert.ok(of);
          const thing = of[things.find((name) => route.includes(`:${name}`)) ?? 'object'];
          const answer = await ask(route, of, role);
          const is = answer.code === 'forbidden' ? 'refused' : isHidden(answer, thing) ? 'hidden' : 'let in';
          const should = !row.who.includes(role) ? 'refused' : project === 'own' ? 'let in' : 'hidden';
          // A member changes their own triggers alone, and this one is the administrator's.
          const stricter = /somebody else’s|somebody else's/.test(answer.detail) && project === 'own';
          if (is !== should && !stricter)
            wrong.push(
              `${route} as ${role}, ${project}: ${is}, not ${should} (${answer.status} ${answer.code}: ${answer.detail})`,
            );
        }
    assert.deepEqual(wrong, []);
  });

  test('a thing that there is not is answered like one of another project', async () => {
    const other = made.get('other');
    assert.ok(other);
    const none: Things = {
      ...other,
      agent: 'agent-of-nobody',
      object: `obj_${'0'.repeat(26)}`,
      trigger: other.trigger.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      hook: other.hook.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      target: other.target.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      tokenId: other.tokenId.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    };
    for (const { route } of walked) {
      const hidden = await ask(route, other, 'project_admin');
      const missing = await ask(route, none, 'project_admin');
      assert.deepEqual([hidden.status, hidden.code], [missing.status, missing.code], route);
      const named = (detail: string, of: Things) =>
        Object.values(of).reduce((text, id) => text.replaceAll(id, '…'), detail);
      assert.equal(named(hidden.detail, other), named(missing.detail, none), route);
    }
  });
});
