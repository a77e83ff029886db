import { z } from 'zod';
import {
  contentPartSchema,
  holdSchema,
  removedSchema,
  retentionRulesSchema,
} from '@lemniscate/shared/api/retention.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { countParts, readContent } from '../application/content/read-content.ts';
import type { ReadContentDeps } from '../application/content/read-content.ts';
import { shredProject } from '../application/content/shred.ts';
import { erasePerson } from '../application/retention/erase-person.ts';
import type { ErasePersonDeps } from '../application/retention/erase-person.ts';
import { eraseSession } from '../application/retention/erase-session.ts';
import { listHolds, placeHold, releaseHold } from '../application/retention/holds.ts';
import type { HoldDeps } from '../application/retention/holds.ts';
import { readRules, setRules } from '../application/retention/rules.ts';
import type { RuleDeps } from '../application/retention/rules.ts';
import type { Person } from '../application/identity.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';
import { contentEtagOf, readSeenContent } from './versions.ts';

export type RetentionRouteDeps = RuleDeps & HoldDeps & ErasePersonDeps & ReadContentDeps;

const projectParams = z.object({ id: z.string().min(1).max(128) });

/** What can never be undone is a person's act: a program's token does not do. */
function byHuman(person: Person, act: string): Person {
  if (person.kind === 'human') return person;
  throw new CodedError('forbidden', `${person.name} is a program. To ${act} takes a person's login.`);
}

/** Public listener: how long content is kept, legal holds, erasure, and retained content. */
export function registerRetentionRoutes(app: App, deps: RetentionRouteDeps): void {
  app.get(
    '/v1/projects/:id/retention',
    { schema: { params: projectParams, response: { 200: retentionRulesSchema } } },
    async (request, reply) => {
      const rules = await readRules(deps.database, request.params.id);
      void reply.header('etag', contentEtagOf(rules));
      return rules;
    },
  );

  app.put(
    '/v1/projects/:id/retention',
    {
      schema: { params: projectParams, body: retentionRulesSchema, response: { 200: retentionRulesSchema } },
    },
    async (request, reply) => {
      const person = byHuman(personOf(request), 'set rules');
      const seen = readSeenContent(request, 'retention rules');
      await setRules(deps, person, request.params.id, request.body, seen);
      void reply.header('etag', contentEtagOf(request.body));
      return request.body;
    },
  );

  app.post(
    '/v1/projects/:id/shred-content',
    { schema: { params: projectParams, response: { 200: z.object({ sessions: z.int() }) } } },
    async (request) => ({
      sessions: await shredProject(deps, byHuman(personOf(request), 'shred content'), request.params.id),
    }),
  );

  app.get(
    '/v1/sessions/:id/content',
    { schema: { params: sessionParams, response: { 200: z.object({ parts: z.int() }) } } },
    async (request) => ({ parts: await countParts(deps.database, request.params.id) }),
  );

  app.get(
    '/v1/sessions/:id/content/:part',
    {
      schema: {
        params: sessionParams.extend({ part: z.coerce.number().int().min(0).max(100_000) }),
        response: { 200: contentPartSchema },
      },
    },
    (request) => readContent(deps, personOf(request), request.params.id, request.params.part),
  );

  app.post(
    '/v1/sessions/:id/erase',
    { schema: { params: sessionParams, response: { 200: z.object({ removed: removedSchema }) } } },
    async (request) => ({
      removed: await eraseSession(deps, byHuman(personOf(request), 'erase a session'), request.params.id),
    }),
  );

  app.post(
    '/v1/people/:subject/erase',
    {
      schema: {
        params: z.object({ subject: z.string().min(1).max(256) }),
        response: { 200: z.object({ person: z.string(), removed: removedSchema }) },
      },
    },
    (request) => erasePerson(deps, byHuman(personOf(request), 'erase a person'), request.params.subject),
  );

  app.get(
    '/v1/holds',
    { schema: { response: { 200: z.object({ holds: z.array(holdSchema) }) } } },
    async () => ({
      holds: await listHolds(deps.database),
    }),
  );

  app.post(
    '/v1/holds',
    {
      schema: {
        body: holdSchema.pick({ scope: true, of: true }).strict(),
        response: { 201: z.object({ id: z.string() }) },
      },
    },
    async (request, reply) => {
      const id = await placeHold(deps, byHuman(personOf(request), 'place a hold'), request.body);
      return reply.code(201).send({ id });
    },
  );

  app.delete(
    '/v1/holds/:id',
    { schema: { params: z.object({ id: z.string().max(64) }) } },
    async (request, reply) => {
      await releaseHold(deps, byHuman(personOf(request), 'release a hold'), request.params.id);
      return reply.code(204).send();
    },
  );
}
