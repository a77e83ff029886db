import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { Command } from 'commander';
import { registerCostsReplay } from './costs-replay.ts';

const examples = new URL('../../../../shared/src/model/fixtures/cost-examples.jsonl', import.meta.url);

async function run(input: string): Promise<{ lines: Record<string, unknown>[]; code: number | undefined }> {
  const stdout = new PassThrough();
  const output = text(stdout);
  let code: number | undefined;
  const program = new Command();
  registerCostsReplay(program, {
    stdin: Readable.from([input]),
    stdout,
    stderr: new PassThrough(),
    env: {},
    interactive: false,
    colour: false,
    signal: new AbortController().signal,
    setExitCode: (given) => {
      code = given;
    },
  });
  await program.parseAsync(['costs', 'replay'], { from: 'user' });
  stdout.end();
  const lines = (await output).trim().split('\n');
  return { lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), code };
}

test('every line is answered in order', async () => {
  const input = readFileSync(examples, 'utf8');
  const ids = input
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id);
  const { lines, code } = await run(`${input}\n\n`);
  assert.deepEqual(
    lines.map((line) => line['id']),
    ids,
  );
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(lines[0] ?? {}).sort(), [
    'billableResponses',
    'cacheReadTokens',
    'cacheWrite1hTokens',
    'cacheWriteTokens',
    'complete',
    'costIsLowerBound',
    'costUsd',
    'id',
    'inputTokens',
    'outputTokens',
    'priced',
  ]);
});

test('a line that cannot be read is named, and the others are still answered', async () => {
  const good = readFileSync(examples, 'utf8').split('\n')[0] ?? '';
  const { lines, code } = await run(`{"id":"half\n{"id":"x"}\n${good}\n`);
  assert.deepEqual(
    lines.map((line) => [line['id'], (line['error'] as { code?: string } | undefined)?.code]),
    [
      [null, 'request_invalid'],
      ['x', 'request_invalid'],
      ['ex-01', undefined],
    ],
  );
  assert.equal(code, 2);
});
