import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePublicApi } from '@lemniscate/dispatcher/http/describe-public-api.ts';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { apiTypes, apiTypesFile } from './api-types.ts';

const answer = z.looseObject({
  description: z.string(),
  content: z.record(z.string(), z.unknown()).optional(),
});
const description = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), responses: z.record(z.string(), answer) })),
  ),
});

test('the types of the API are those of its routes', async () => {
  const now = readFileSync(join(projectRoot, apiTypesFile), 'utf8');
  assert.ok(now === (await apiTypes()), `${apiTypesFile} is stale: run "npm run api" and commit it`);
});

test('every operation says what it answers, and what a fault looks like', async () => {
  const { paths } = description.parse(await describePublicApi());
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
  );
  assert.ok(operations.length > 150);
  const mute = operations.filter(({ responses }) =>
    Object.entries(responses).every(
      ([status, { content }]) => status === 'default' || (status === '200' && content === undefined),
    ),
  );
  assert.deepEqual(
    mute.map(({ name }) => name),
    [],
    'name what these answer, at the route or in describe-api.ts',
  );
  for (const { name, responses } of operations)
    assert.ok(responses['default']?.content?.['application/problem+json'] !== undefined, name);
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
});
