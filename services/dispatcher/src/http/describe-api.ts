import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { namesVersion, tellsVersion } from './change-table.ts';
import { problemMediaType } from './problems.ts';

interface OtherAnswer {
  readonly description: string;
  /** Of an answer with a body. */
  readonly mediaType?: string;
}

const done = { 204: { description: 'Done; there is nothing to say.' } } as const;
const stream = {
  200: {
    description: 'Server-sent events, for as long as the reader stays; Last-Event-ID resumes.',
    mediaType: 'text/event-stream',
  },
} as const;
const redirect = { 302: { description: 'On to the next page, which Location names.' } } as const;
const mcp = {
  200: { description: 'A message of the Model Context Protocol.', mediaType: 'text/event-stream' },
  202: { description: 'Taken; there is nothing to answer.' },
} as const;

/** What routes answer that is no JSON document, and so has no schema at its route. */
const otherAnswers: Readonly<Record<string, Readonly<Record<number, OtherAnswer>>>> = {
  'POST /v1/login/browser': done,
  'POST /v1/logout': done,
  'GET /v1/login': redirect,
  'GET /v1/login/callback': redirect,
  'PUT /v1/role-bindings': done,
  'DELETE /v1/role-bindings': done,
  'DELETE /v1/tokens/:tokenId': done,
  'DELETE /v1/revocations/:subject': done,
  'DELETE /v1/holds/:id': done,
  'PUT /v1/account-links': done,
  'DELETE /v1/account-links': done,
  'GET /v1/session-rows/events': stream,
  'GET /v1/sessions/:id/events': stream,
  'GET /v1/approvals/events': stream,
  'GET /v1/sessions/:id/files/content': {
    200: { description: 'The file as the agent wrote it, as an attachment.', mediaType: '*/*' },
  },
  'DELETE /v1/servers/:id': done,
  'PUT /v1/servers/:id/drain': done,
  'DELETE /v1/servers/:id/drain': done,
  'PUT /v1/servers/:id/approval': done,
  'GET /v1/pools/metrics': { 200: { description: 'Metrics for a scaler.', mediaType: 'text/plain' } },
  'PUT /v1/pools/:pool': done,
  'GET /v1/policy-schema': {
    200: { description: 'The JSON Schema of a policy.', mediaType: 'application/json' },
  },
  'GET /v1/costs/export': { 200: { description: 'FOCUS 1.2 as CSV.', mediaType: 'text/csv' } },
  'PUT /v1/agents/:agent/credentials/:name': done,
  'DELETE /v1/agents/:agent/credentials/:name': done,
  'DELETE /v1/triggers/:trigger': done,
  'DELETE /v1/hooks/:hook': done,
  'DELETE /v1/notify-targets/:target': done,
  'POST /mcp': mcp,
  'GET /mcp': mcp,
};

const problem = {
  description: 'A problem document: what is wrong, by a stable code, and what to do.',
  content: { [problemMediaType]: { schema: { $ref: '#/components/schemas/Problem' } } },
} as const;

/** What a change says it saw. The header's name is in small letters, as clients write it. */
const seenVersion = {
  headers: {
    type: 'object',
    properties: {
      'if-match': {
        type: 'string',
        description:
          'The ETag that was read, or the version in quotes as in "3"; "0" where there was nothing. 428 without it, 412 when somebody was faster.',
      },
    },
    required: ['if-match'],
  },
} as const;

const etag = {
  etag: {
    type: 'string',
    description: 'The version of what is shown; a change of it sends this as If-Match.',
  },
} as const;

/** The answers of success with what they tell of the version. */
function withVersion(response: Record<string, object>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(response).map(([status, answer]) => [
      status,
      status.startsWith('2') ? { ...answer, headers: etag } : answer,
    ]),
  );
}

/** Names the operation after its route: `POST /v1/sessions/:id/stop` → `post_v1_sessions_id_stop`. */
function operationId(method: string, url: string): string {
  return `${method.toLowerCase()}_${url.split(/\W+/).filter(Boolean).join('_')}`;
}

function describe(answers: Readonly<Record<number, OtherAnswer>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, mediaType }]) => [
      status,
      // what has no body has no schema; @fastify/swagger leaves out the content of type null
      mediaType === undefined
        ? { type: 'null', description }
        : {
            description,
            content: { [mediaType]: { schema: mediaType === 'application/json' ? {} : { type: 'string' } } },
          },
    ]),
  );
}

/**
 * How `/openapi.json` is made: zod schemas of the routes, and what every route shares. Two ways in are described: a
 * token in the header, or the console's cookie.
 */
export const apiDescription = {
  openapi: {
    openapi: '3.1.0',
    info: { title: '', version: '1' },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        console: { type: 'apiKey', in: 'cookie', name: 'lemniscate' },
      },
    },
  },
  transform: (route) => {
    const transformed = jsonSchemaTransform(route);
    const [method = 'GET'] = [route.route.method].flat();
    const answers = {
      ...(transformed.schema?.response as Record<string, object> | undefined),
      ...describe(otherAnswers[`${method} ${route.url}`] ?? {}),
    };
    const response = {
      ...(tellsVersion(method, route.url) ? withVersion(answers) : answers),
      default: problem,
    };
    return {
      url: transformed.url,
      schema: {
        ...transformed.schema,
        ...(namesVersion(method, route.url) ? seenVersion : {}),
        operationId: operationId(method, route.url),
        response,
      },
    };
  },
  transformObject: jsonSchemaTransformObject,
} satisfies FastifyDynamicSwaggerOptions;
