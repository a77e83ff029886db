import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';

const notOurs = /(^|\/)(node_modules|dist|\.[a-z][^/]*)(\/|$)/;

/** What a document says apart from its blocks of code. */
const proseOf = (text: string): string => text.replaceAll(/^```[^]*?^```/gm, '');

/** The anchor that a heading gets. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-');
}

const anchorsOf = (text: string): string[] =>
  [...proseOf(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** What a document leads to that is not there: files of its links, headings of their anchors, paths that it names. */
function deadEnds(file: string, text: string): string[] {
  const prose = proseOf(text);
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const at = path === '' ? file : join(dirname(file), path);
    if (!existsSync(at)) return [target];
    if (anchor === undefined || statSync(at).isDirectory()) return [];
    return anchorsOf(at === file ? text : readFileSync(at, 'utf8')).includes(anchor) ? [] : [target];
  });
  const paths = [...prose.matchAll(/`((?:services|shared|clients|infra|load-tests|docs)\/[\w./-]+)`/g)]
    .map(([, path = '']) => path)
    // NAME stands for what the reader chooses
    .filter((path) => !path.includes('NAME') && !existsSync(join(projectRoot, path)));
  return [...links, ...paths];
}

test('every link, anchor and path that a document names is there', () => {
  const files = globSync('**/*.md', {
    cwd: projectRoot,
    exclude: (name) => notOurs.test(name) || notOurs.test(relative(projectRoot, name)),
  });
  assert.ok(files.length > 60, `only ${files.length} documents were read`);
  const dead = files.flatMap((name) => {
    const file = join(projectRoot, name);
    return deadEnds(file, readFileSync(file, 'utf8')).map((target) => `${name}: ${target}`);
  });
  assert.deepEqual(dead, []);
});

test('a dead end of each kind is found', () => {
  const file = join(projectRoot, 'README.md');
  const text =
    '# Some `code`, and more\n[a](docs/none.md) [b](#some-code-and-more) [c](#none) [d](https://x.invalid) `infra/none.ts`\n```\n[e](none)\n```\n';
  assert.deepEqual(deadEnds(file, text), ['docs/none.md', '#none', 'infra/none.ts']);
});
