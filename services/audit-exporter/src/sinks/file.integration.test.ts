import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extendChain } from '@lemniscate/shared/audit/chain.ts';
import { checkpointId, checkpointLineSchema } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readSinkFile } from '../testing/read-sink-file.ts';
import { createFileSink } from './file.ts';
import { sampleLog, sinkContract } from './sink-contract.ts';

sinkContract('file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sink-file-'));
  const path = join(folder, 'deeper', 'audit.ndjson');
  return {
    create: () => createFileSink(path),
    received: async () => (await readSinkFile(path)).map(({ id }) => id),
    anchored: async () => {
      const text = await readFile(`${path}.checkpoints`, 'utf8');
      const lines = text.split('\n').slice(0, -1);
      return lines.map((line) => {
        const { number, frontier } = checkpointLineSchema.parse(JSON.parse(line));
        return checkpointId(number, frontier[0] ?? '');
      });
    },
    remove: () => rm(folder, { recursive: true }),
  };
});

const log = sampleLog(30);
const deadline = (): AbortSignal => AbortSignal.timeout(10_000);

async function filled(t: TestContext, size: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sink-file-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'audit.ndjson');
  const sink = createFileSink(path);
  await sink.open();
  if (size > 0) await sink.deliver(log.slice(0, size), deadline());
  await sink.close();
  return path;
}

test('wherever the last line is torn, the sink stands at the line before and the rest comes out whole', async (t) => {
  const path = await filled(t, 10);
  const whole = await readFile(path);
  const lastLine = whole.lastIndexOf(0x0a, whole.length - 2) + 1;
  // every place inside the last line, its first byte and its line feed among them
  for (let size = lastLine; size < whole.length; size += 7) {
    await writeFile(path, whole);
    await truncate(path, size);
    const sink = createFileSink(path);
    assert.equal((await sink.open())?.index, 8);
    await sink.deliver(log.slice(9, 10), deadline());
    await sink.close();
    assert.deepEqual(await readFile(path), whole, `torn at ${size}`);
  }
});

test('a file with nothing but a torn first line begins anew', async (t) => {
  const path = await filled(t, 1);
  await truncate(path, 30);
  const sink = createFileSink(path);
  assert.equal(await sink.open(), null);
  await sink.deliver(log, deadline());
  await sink.close();
  assert.equal((await readSinkFile(path)).length, 30);
});

test('lines longer than what is read at once are found', async (t) => {
  const path = await filled(t, 0);
  const sink = createFileSink(path);
  await sink.open();
  const large = sampleLog(4).map(({ index, entry }) => ({
    index,
    entry: { ...entry, body: Buffer.from(JSON.stringify({ reasons: 'r'.repeat(60_000 + index) })) },
  }));
  await sink.deliver(large, deadline());
  await sink.close();
  await appendFile(path, '{"index":4,"id"');
  const again = createFileSink(path);
  assert.equal((await again.open())?.index, 3);
  await again.close();
  assert.equal((await readSinkFile(path)).length, 4);
});

test('an exporter that was frozen and wakes after another took over harms nothing', async (t) => {
  const path = await filled(t, 10);
  const [frozen, successor] = [createFileSink(path), createFileSink(path)];
  await frozen.open();
  await successor.open();
  await successor.deliver(log.slice(10, 25), deadline());
  await frozen.deliver(log.slice(10, 17), deadline());
  await successor.deliver(log.slice(25), deadline());
  await Promise.all([frozen.close(), successor.close()]);
  assert.deepEqual(
    (await readSinkFile(path)).map(({ index }) => index),
    log.map(({ index }) => index),
  );
});

test('a file that holds something else is refused and left as it is', async (t) => {
  const path = await filled(t, 0);
  for (const foreign of [
    'hello',
    'hello\n',
    '{"index":0}\n',
    'a\nb',
    '{"level":"info","message":"x"}\n{"le',
  ]) {
    await writeFile(path, foreign);
    const sink = createFileSink(path);
    await assert.rejects(
      sink.open(),
      (error) => isCodedError(error, 'conflict') && error.message.includes(path),
      foreign,
    );
    assert.equal(await readFile(path, 'utf8'), foreign);
  }
});

test(
  'a full disk is named, and what is half written is mended by the next open',
  { skip: !(await hasFullDevice()) && 'dev-full: no /dev/full here' },
  async () => {
    const sink = createFileSink('/dev/full');
    await sink.open();
    await assert.rejects(sink.deliver(log, deadline()), (error) => isCodedError(error, 'disk_full'));
    await sink.close();
  },
);

test('only the owner may read the file', async (t) => {
  const path = await filled(t, 1);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

async function hasFullDevice(): Promise<boolean> {
  return stat('/dev/full').then(
    (found) => found.isCharacterDevice(),
    () => false,
  );
}

test('who people are lies beside the entries, and an erasure takes it away there too', async (t) => {
  const path = await filled(t, 3);
  const [ann, bob] = [`person:${'a'.repeat(24)}`, `person:${'b'.repeat(24)}`];
  const named = log.slice(3, 10).map((indexed) => ({
    ...indexed,
    people: new Map([
      [ann, 'eve@erased.example'],
      [bob, 'bob@example.org'],
    ]),
  }));
  const sink = createFileSink(path);
  await sink.open();
  await sink.deliver(named, deadline());
  const people = async (): Promise<unknown> => JSON.parse(await readFile(`${path}.people`, 'utf8'));
  assert.deepEqual(await people(), { [ann]: 'eve@erased.example', [bob]: 'bob@example.org' });
  const erased = { type: 'person.erased', subject: 's', body: { person: ann } } as const;
  const head = { chain: 'fleet:main', seq: 0, digest: new Uint8Array(), closed: false };
  const [, entry] = extendChain(head, [erased], '2026-11-29T15:00:00.000Z').entries;
  assert.ok(entry !== undefined);
  const again = createFileSink(path);
  await again.open();
  await again.deliver([{ index: 10, entry }], deadline());
  assert.deepEqual(await people(), { [bob]: 'bob@example.org' });
  for (const file of [path, `${path}.people`, `${path}.checkpoints`])
    assert.doesNotMatch(await readFile(file, 'utf8'), /eve@erased/);
  await Promise.all([sink.close(), again.close()]);
});

const rotatedLines = async (path: string): Promise<number[]> => {
  const files = (await readdir(dirname(path))).filter((name) => /ndjson\.\d+$/.test(name)).toSorted();
  const lines = await Promise.all(files.map((name) => readSinkFile(join(dirname(path), name))));
  return lines.flat().map(({ index }) => index);
};

sinkContract('file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sink-rotated-'));
  const path = join(folder, 'audit.ndjson');
  const named = async (pattern: RegExp): Promise<string[]> => {
    const names = await readdir(folder);
    return names.filter((name) => pattern.test(name)).toSorted();
  };
  return {
    create: () => createFileSink(path, 7),
    received: async () => {
      const files = await named(/ndjson\.\d+$/);
      const lines = await Promise.all(files.map((name) => readSinkFile(join(folder, name))));
      return lines.flat().map(({ id }) => id);
    },
    anchored: async () => {
      const text = await readFile(`${path}.checkpoints`, 'utf8');
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const { number, frontier } = checkpointLineSchema.parse(JSON.parse(line));
          return checkpointId(number, frontier[0] ?? '');
        });
    },
    remove: () => rm(folder, { recursive: true }),
  };
});

test('a batch that goes over several files fills each; a frozen exporter that wakes writes what is there already', async (t) => {
  const path = await filled(t, 0);
  const [frozen, successor] = [createFileSink(path, 7), createFileSink(path, 7)];
  await frozen.open();
  await frozen.deliver(log.slice(0, 5), deadline());
  await successor.open();
  await successor.deliver(log.slice(5, 24), deadline());
  await frozen.deliver(log.slice(5, 16), deadline());
  await successor.deliver(log.slice(24), deadline());
  await Promise.all([frozen.close(), successor.close()]);
  const all = log.map(({ index }) => index);
  assert.deepEqual(await rotatedLines(path), all);
  // the newest file was begun and torn, and full ones were moved away
  const newest = `${path}.000000000000028`;
  await truncate(newest, 20);
  await rm(`${path}.000000000000000`);
  const again = createFileSink(path, 7);
  assert.equal((await again.open())?.index, 27);
  await again.deliver(log.slice(28), deadline());
  await again.close();
  assert.deepEqual(await rotatedLines(path), all.slice(7));
});
