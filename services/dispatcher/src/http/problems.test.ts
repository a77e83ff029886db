import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createLogger } from '../log.ts';
import { createApp } from './app.ts';
import type { App } from './app.ts';

// The words of git, Postgres and parsers quote what they were given. None of it may reach the service's log.

const marker = 'PLANTEDfaultMARKER';
let app: App;
const lines: string[] = [];
before(async () => {
  const logger = createLogger('debug', { write: (line) => void lines.push(line) });
  app = await createApp({ title: 'test', logger, newId: (kind) => `${kind}-1`, bodyLimit: 1_024, tls: null });
  app.get('/coded', () => {
    const said = `fatal: couldn't find remote ref ${marker}\n    at ${marker} (/services/${marker}.ts:1:1)`;
    throw new CodedError('storage_failed', `The mirror cannot be read: ${said}`, { said });
  });
  app.get('/away', () => {
    throw new CodedError('unavailable', 'Postgres did not carry a statement out (57014).');
  });
  app.get('/away-longer', () => {
    throw new CodedError('unavailable', 'Later.', { retryAfterSeconds: 60 });
  });
  app.get('/parser', () => JSON.parse(marker) as never);
  app.get('/file', () => readFile(`/none/${marker}`));
  app.get('/cause', () => {
    throw new Error(`about ${marker}`, { cause: new CodedError('internal', marker) });
  });
  app.get('/named', () => {
    throw Object.assign(new Error('x'), { name: `Odd ${marker}`, code: `a ${marker}`, table: `t ${marker}` });
  });
});
after(() => app.close());

async function logged(path: string): Promise<Record<string, unknown>> {
  lines.length = 0;
  const { statusCode } = await app.inject({ method: 'GET', url: path });
  assert.equal(statusCode >= 500, true, `${path} ${statusCode}`);
  const records = lines.map((line) => JSON.parse(line) as { err?: Record<string, unknown> });
  assert.doesNotMatch(lines.join(''), new RegExp(marker), path);
  return records.find(({ err }) => err !== undefined)?.err ?? assert.fail(`${path} was not logged`);
}

test('a fault is logged by code and place, without the words that came with it', async () => {
  const coded = await logged('/coded');
  assert.deepEqual([coded['type'], coded['code']], ['CodedError', 'storage_failed']);
  assert.ok(typeof coded['title'] === 'string');
  assert.match(JSON.stringify(coded['at']), /"services\/dispatcher\/src\/http\/problems\.test\.ts:\d+"/);
  assert.equal((await logged('/parser'))['type'], 'SyntaxError');
  assert.deepEqual((await logged('/file'))['code'], 'ENOENT');
  assert.deepEqual((await logged('/named'))['type'], 'other');
  const { cause } = (await logged('/cause')) as { cause?: { code?: string } };
  assert.equal(cause?.code, 'internal');
});

test('what is away for a moment says when to come again', async () => {
  const asked = async (url: string) => {
    const { statusCode, headers, body } = await app.inject({ method: 'GET', url });
    return [statusCode, headers['retry-after'], (JSON.parse(body) as { code: string }).code];
  };
  assert.deepEqual(await asked('/away'), [503, '2', 'unavailable']);
  assert.deepEqual(await asked('/away-longer'), [503, '60', 'unavailable']);
  assert.deepEqual(await asked('/parser'), [500, undefined, 'internal']);
});
