import { z } from 'zod';
import {
  attachFileSchema,
  changeObjectSchema,
  commentPageSchema,
  commentViewSchema,
  createCommentSchema,
  createObjectSchema,
  objectHistorySchema,
  objectIdSchema,
  objectPageSchema,
  objectViewSchema,
  objectWithFilesSchema,
  workspaceSchema,
} from '@lemniscate/shared/api/object.ts';
import { projectIdSchema } from '@lemniscate/shared/api/project.ts';
import { changeObject } from '../application/objects/change-object.ts';
import { commentAsPerson, listComments } from '../application/objects/comments.ts';
import { createObject } from '../application/objects/create-object.ts';
import type { ObjectDeps } from '../application/objects/create-object.ts';
import { readHistory } from '../application/objects/history.ts';
import { listObjects } from '../application/objects/list-objects.ts';
import { attachFile, listObjectFiles } from '../application/objects/object-files.ts';
import { findObject, toCommentView, toObjectView } from '../application/objects/object-row.ts';
import { readWorkspace, setWorkspace } from '../application/objects/workspace.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { etagOf, readIfMatch } from './versions.ts';

const objectParams = z.object({ object: objectIdSchema });
const projectParams = z.object({ id: projectIdSchema });
/** What every list takes: where the page before ended, and how long a page may be. */
export const pageQuery = z.object({
  cursor: z.string().max(128).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});
export const filterSchema = z.string().min(1).max(256).optional();

/** Public listener: what people and agents work on together. */
export function registerObjectRoutes(app: App, deps: ObjectDeps): void {
  app.get(
    '/v1/objects',
    {
      schema: {
        querystring: pageQuery.extend({
          project: filterSchema,
          status: filterSchema,
          type: filterSchema,
          assignee: filterSchema,
        }),
        response: { 200: objectPageSchema },
      },
    },
    async (request) => {
      const { objects, nextCursor } = await listObjects(deps.database, personOf(request), request.query);
      return { objects: objects.map(toObjectView), nextCursor };
    },
  );

  app.post(
    '/v1/objects',
    { schema: { body: createObjectSchema, response: { 201: objectViewSchema } } },
    async (request, reply) => {
      const created = await createObject(deps, personOf(request), request.body);
      void reply.header('etag', etagOf(created.version));
      return reply.code(201).send(toObjectView(created));
    },
  );

  app.get(
    '/v1/objects/:object',
    { schema: { params: objectParams, response: { 200: objectWithFilesSchema } } },
    async (request, reply) => {
      const found = await findObject(deps.database, personOf(request), request.params.object);
      void reply.header('etag', etagOf(found.version));
      return { ...toObjectView(found), files: await listObjectFiles(deps.database, found.id) };
    },
  );

  app.patch(
    '/v1/objects/:object',
    { schema: { params: objectParams, body: changeObjectSchema, response: { 200: objectViewSchema } } },
    async (request, reply) => {
      const seen = readIfMatch(request, 'object');
      const change = { change: request.body, seen };
      const changed = await changeObject(deps, personOf(request), request.params.object, change);
      void reply.header('etag', etagOf(changed.version));
      return toObjectView(changed);
    },
  );
  registerThreadRoutes(app, deps);
  registerWorkspaceRoutes(app, deps);
}

/** What is said about an object, what was done to it, and what was attached. */
function registerThreadRoutes(app: App, deps: ObjectDeps): void {
  app.get(
    '/v1/objects/:object/comments',
    { schema: { params: objectParams, querystring: pageQuery, response: { 200: commentPageSchema } } },
    async (request) => {
      const found = await findObject(deps.database, personOf(request), request.params.object);
      const { comments, nextCursor } = await listComments(deps.database, found.id, request.query);
      return { comments: comments.map(toCommentView), nextCursor };
    },
  );

  app.post(
    '/v1/objects/:object/comments',
    {
      // Four bytes a character, escaped.
      bodyLimit: 1024 * 1024,
      schema: { params: objectParams, body: createCommentSchema, response: { 201: commentViewSchema } },
    },
    async (request, reply) => {
      const { body, replyTo } = request.body;
      const comment = { body, replyTo: replyTo ?? null };
      const written = await commentAsPerson(deps, personOf(request), request.params.object, comment);
      return reply.code(201).send(toCommentView(written));
    },
  );

  app.get(
    '/v1/objects/:object/history',
    { schema: { params: objectParams, querystring: pageQuery, response: { 200: objectHistorySchema } } },
    async (request) => {
      const found = await findObject(deps.database, personOf(request), request.params.object);
      return readHistory(deps.database, found.id, request.query);
    },
  );

  app.post(
    '/v1/objects/:object/files',
    { schema: { params: objectParams, body: attachFileSchema, response: { 200: objectWithFilesSchema } } },
    async (request) => {
      const person = personOf(request);
      await attachFile(deps, person, request.params.object, request.body);
      const found = await findObject(deps.database, person, request.params.object);
      return { ...toObjectView(found), files: await listObjectFiles(deps.database, found.id) };
    },
  );
}

/** What a project's sessions work on where nothing else says it. */
function registerWorkspaceRoutes(app: App, deps: ObjectDeps): void {
  app.get(
    '/v1/projects/:id/workspace',
    { schema: { params: projectParams, response: { 200: workspaceSchema } } },
    async (request, reply) => {
      const { version, repository } = await readWorkspace(deps.database, request.params.id);
      void reply.header('etag', etagOf(version));
      return { repository };
    },
  );

  app.put(
    '/v1/projects/:id/workspace',
    { schema: { params: projectParams, body: workspaceSchema, response: { 200: workspaceSchema } } },
    async (request, reply) => {
      const { repository } = request.body;
      const seen = readIfMatch(request, 'workspace');
      const version = await setWorkspace(deps, personOf(request), request.params.id, { repository, seen });
      void reply.header('etag', etagOf(version));
      return { repository };
    },
  );
}
