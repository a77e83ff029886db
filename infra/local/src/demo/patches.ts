import { createHash } from 'node:crypto';
import type { DiffFile, DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import { fileFlagsOf } from '@lemniscate/shared/repository/flags.ts';
import type { ToldSession } from './story.ts';

/** A patch as git writes it, and what the record says of it. */
export interface ToldPatch {
  readonly text: string;
  readonly summary: DiffSummary;
}

const hunks: readonly (readonly [
  before: readonly string[],
  removed: readonly string[],
  added: readonly string[],
])[] = [
  [
    [
      'export function total(lines, discount) {',
      '  const sum = lines.reduce((all, line) => all + line.cents, 0);',
    ],
    ['  return Math.round(sum - sum * discount);'],
    ['  return sum - Math.round(sum * discount);'],
  ],
  [
    ['async function save(order) {', '  const known = await store.find(order.key);'],
    ['  await store.insert(order);'],
    ['  if (known !== undefined) return known;', '  return store.insert(order);'],
  ],
  [
    ['test("retries until the queue is empty", async () => {', '  await publish(events);'],
    ['  await sleep(200);', '  assert.equal(queue.size, 0);'],
    ['  await until(() => queue.size === 0);'],
  ],
  [
    ['const settings = {', '  region: env.REGION,'],
    ['  timeout: 30000,'],
    ['  /** Longer than the slowest query that we have measured. Milliseconds. */', '  timeout: 45_000,'],
  ],
];

const names = ['index.ts', 'service.ts', 'store.ts', 'format.ts', 'rules.test.ts', 'worker.ts', 'schema.ts'];

/** Makes the changes of one session: some files, now and then one that is under dedicated control. */
export function tellPatch(session: ToldSession, files: number): ToldPatch {
  const { chance, folder } = session;
  const paths = new Set(Array.from({ length: files }, () => `${folder}/${chance.one(names)}`));
  if (chance.next() < 0.14) paths.add(chance.one(['package.json', '.github/workflows/ci.yml', 'Makefile']));
  const parts = [...paths].map((path) => filePatch(session, path));
  const text = parts.map((part) => part.text).join('');
  const sum = (of: 'insertions' | 'deletions'): number =>
    parts.reduce((all, { file }) => all + (file[of] ?? 0), 0);
  return {
    text,
    summary: {
      sha256: createHash('sha256').update(text).digest('hex'),
      bytes: Buffer.byteLength(text),
      baseCommit: chance.hex(40),
      baseTree: chance.hex(40),
      files: parts.map(({ file }) => file),
      insertions: sum('insertions'),
      deletions: sum('deletions'),
    },
  };
}

function filePatch({ chance }: ToldSession, path: string): { text: string; file: DiffFile } {
  const [before, removed, added] = chance.one(hunks);
  const start = chance.between(4, 240);
  const lines = [
    ...before.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ' }',
  ];
  const text = `diff --git a/${path} b/${path}
index ${chance.hex(40)}..${chance.hex(40)} 100644
--- a/${path}
+++ b/${path}
@@ -${start},${before.length + removed.length + 1} +${start},${before.length + added.length + 1} @@
${lines.join('\n')}
`;
  return {
    text,
    file: {
      path,
      change: 'modified',
      insertions: added.length,
      deletions: removed.length,
      flags: fileFlagsOf([path]),
    },
  };
}
