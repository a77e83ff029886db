import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Minimatch } from 'minimatch';
import { flaggedPattern } from './flagged-path.ts';
import { defaultFlaggedPaths } from './flagged-paths.ts';

const patterns = [
  ...defaultFlaggedPaths,
  'deploy/**',
  '*.sql',
  '**',
  '**/**',
  '**/a/*.ts',
  'src/{a,b}/*',
  '{**/x,y}',
];
const names = [
  'src',
  'a',
  'b',
  'x',
  'y',
  '.github',
  '.git',
  'Makefile',
  'BUILD',
  'build',
  'a.ts',
  'q.sql',
  '.husky',
];
const more = [
  'gradle',
  'wrapper',
  'deploy',
  'hooks',
  'pre-commit',
  'package.json',
  'Dockerfile.dev',
  '.eslintrc.js',
];

const paths = [...names, ...more].flatMap((first) =>
  ['', ...names, ...more].flatMap((second) =>
    ['', ...names.slice(0, 5)].map((third) => [first, second, third].filter((name) => name !== '').join('/')),
  ),
);

test('what stands for a name in any folder is found as a whole pattern would find it', () => {
  let covered = 0;
  for (const pattern of patterns) {
    const nocase = !/(^|\/)(BUILD|WORKSPACE)\b[^/]*$/.test(pattern);
    const whole = new Minimatch(pattern, { dot: true, nocomment: true, nonegate: true, nocase });
    const alone = [pattern];
    for (const path of paths) {
      const covers = whole.match(path);
      covered += covers ? 1 : 0;
      assert.equal(flaggedPattern(alone, path) === pattern, covers, `${pattern} on ${path}`);
    }
  }
  assert.ok(covered > 1_000);
});

test('an absolute path is matched in every folder of it', () => {
  assert.equal(flaggedPattern(['deploy/**'], '/workspace/deploy/prod.yaml'), 'deploy/**');
  assert.equal(flaggedPattern(['deploy/**'], 'workspace/deploy/prod.yaml'), undefined);
  assert.equal(flaggedPattern(['**/Makefile'], '/workspace/a/../Makefile'), '**/Makefile');
  assert.equal(flaggedPattern(['**/Makefile'], '/'), undefined);
});
