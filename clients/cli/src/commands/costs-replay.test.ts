import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { Command } from 'commander';
import { registerCostsReplay } from './costs-replay.ts';

const fixtures = new URL('../../../../shared/src/model/fixtures/', import.meta.url);
const examples = readFileSync(new URL('cost-examples.jsonl', fixtures), 'utf8');
const exampleLines = examples.split('\n').filter((line) => line !== '');

type Answer = Readonly<Record<string, unknown>>;

/** Starts the command. */
function start(stdin: Readable, signal: AbortSignal) {
  const stdout = new PassThrough();
  const codes: number[] = [];
  const program = new Command();
  registerCostsReplay(program, {
    stdin,
    stdout,
    stderr: new PassThrough(),
    env: {},
    interactive: false,
    colour: false,
    signal,
    setExitCode: (given) => void codes.push(given),
  });
  return { stdout, codes, ended: program.parseAsync(['costs', 'replay'], { from: 'user' }) };
}

async function run(
  ...input: readonly (string | Buffer)[]
): Promise<{ lines: Answer[]; code: number | undefined }> {
  const { stdout, codes, ended } = start(Readable.from(input), new AbortController().signal);
  const output = text(stdout);
  await ended;
  stdout.end();
  const lines = (await output).split('\n').filter((line) => line !== '');
  return { lines: lines.map((line) => JSON.parse(line) as Answer), code: codes[0] };
}

/** The whole answer that an example asks for; it tells the exact amount apart and leaves out what is zero or plain. */
function expectedAnswer(line: string): Answer {
  const { id, expected } = JSON.parse(line) as { id: string; expected: Answer };
  const { costUsd: _, costUsdExact, ...rest } = expected;
  return {
    id,
    cacheWrite1hTokens: 0,
    costIsLowerBound: expected['complete'] !== true,
    ...rest,
    costUsd: costUsdExact,
  };
}

test('every example is answered whole, in order', async () => {
  const { lines, code } = await run(`${examples}\n\n`);
  assert.ok(lines.length >= 12);
  assert.deepEqual(lines, exampleLines.map(expectedAnswer));
  assert.equal(code, 0);
});

describe('variants of the examples are answered whole', () => {
  const variants = readFileSync(new URL('cost-variants.jsonl', fixtures), 'utf8').trimEnd().split('\n');
  for (const line of variants) {
    const { id, why } = JSON.parse(line) as { id: string; why: string };
    test(`${id}: ${why}`, async () => {
      assert.deepEqual((await run(`${line}\n`)).lines, [expectedAnswer(line)]);
    });
  }
});

describe('lines', () => {
  const expected = exampleLines.map(expectedAnswer);

  test('only a line feed ends one: JSON leaves the other separators of Unicode raw', async () => {
    const calls = exampleLines.map((line) => ({
      ...(JSON.parse(line) as object),
      note: 'a\u2028b\u2029c\u0085d\u000b',
    }));
    const { lines, code } = await run(calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
    assert.deepEqual(lines, expected);
    assert.equal(code, 0);
  });

  test('carriage returns, a byte order mark and a last line without its end change nothing', async () => {
    for (const input of [
      examples.replaceAll('\n', '\r\n'),
      `\uFEFF${examples}`,
      `\uFEFF\r\n${examples.trimEnd()}`,
    ])
      assert.deepEqual((await run(input)).lines, expected);
  });

  test('chunks may end inside a character', async () => {
    const call = { ...(JSON.parse(exampleLines[0] ?? '') as object), id: 'äöü€𝄞' };
    const bytes = Buffer.from(JSON.stringify(call));
    const { lines } = await run(
      ...Array.from({ length: bytes.length }, (_, at) => bytes.subarray(at, at + 1)),
    );
    assert.equal(lines[0]?.['id'], 'äöü€𝄞');
  });

  test('one that cannot be read is named, and the others are still answered', async () => {
    const good = exampleLines[0] ?? '';
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

  test('one beyond the bound is refused and not held', async () => {
    const piece = Buffer.alloc(16 * 1024 * 1024, 'x');
    const { lines, code } = await run(piece, piece, piece, piece, piece, `\n${exampleLines[0] ?? ''}`);
    assert.match(JSON.stringify(lines[0]), /longer than 67108864 characters/);
    assert.equal(lines[1]?.['id'], 'ex-01');
    assert.equal(code, 2);
  });
});

test(
  'an interruption ends it, while it waits for input as while its answers are not read',
  { timeout: 60_000 },
  async () => {
    const waits = new AbortController();
    const waiting = start(new PassThrough(), waits.signal);
    waits.abort();
    await assert.rejects(waiting.ended, { name: 'AbortError' });

    const fills = new AbortController();
    const filling = start(Readable.from(Array.from({ length: 1_000 }, () => examples)), fills.signal);
    await once(filling.stdout, 'readable');
    fills.abort();
    await assert.rejects(filling.ended, { name: 'AbortError' });
    assert.deepEqual([...waiting.codes, ...filling.codes], []);
  },
);
