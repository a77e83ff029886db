import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '../clock.ts';
import { maxSkillDocument, readSkillDocument } from './skill-document.ts';

const paths = new Set(['SKILL.md', 'reference/a b.md', 'scripts/run.sh']);
const read = (text: string, name = 'release-notes') => readSkillDocument(text, name, paths);
const head = '---\nname: release-notes\ndescription: Writes release notes. Use it before a release.\n---\n';

test('a skill is read with its name and description', () => {
  assert.deepEqual(
    read(
      `${head}# Steps\n[more](reference/a%20b.md#x), [run](./scripts/run.sh), [web](https://e.org), [here](#a)`,
    ),
    {
      name: 'release-notes',
      description: 'Writes release notes. Use it before a release.',
    },
  );
  assert.equal(read(head.replaceAll('\n', '\r\n')).name, 'release-notes');
});

test('what stands in code is shown and no link', () => {
  const shown =
    '```md\n[title](page.md)\n~~~\n```\nWrite `[title](page.md)`. [more](<reference/a b.md>)\n[r]: scripts/run.sh\n';
  assert.equal(read(`${head}${shown}`).name, 'release-notes');
  assert.throws(() => read(`${head}\`\`\`\nx\n\`\`\`\n[x](page.md)`), /links to files.*page\.md/);
});

test('a text of nothing but half links, or of brackets in brackets, is read in proportion to its length', () => {
  const began = threadProcessorMs();
  for (const bomb of ['](', '](<', '[a]: ', '](a "', '`[', '~~~ ', '](https://'])
    try {
      read(`${head}${bomb.repeat(Math.floor(65_000 / bomb.length))}`);
    } catch (error) {
      assert.match(String(error), /links to files/);
    }
  for (const nest of ['[', '{a: ', '- '])
    assert.throws(() => read(`---\nname: release-notes\nmetadata: ${nest.repeat(15_000)}\n---\n`), {
      code: 'request_invalid',
    });
  assert.ok(threadProcessorMs() - began < 4_000, `${threadProcessorMs() - began} ms`);
});

for (const [what, text, message] of [
  ['no front matter', '# Title', /must begin with front matter/],
  ['an open front matter', '---\nname: x\n', /must begin with front matter/],
  ['YAML that is none', '---\nname: [\n---\n', /not YAML/],
  ['no description', '---\nname: release-notes\n---\n', /description/],
  ['another name', head.replace('release-notes', 'other'), /its name is "other"/],
  ['a name that is none', head.replace('release-notes', 'Release_Notes'), /name must be/],
  ['anchors that expand', '---\nname: &a release-notes\ndescription: *a\n---\n', /anchors|not YAML/],
  ['a link out of it', `${head}[x](../secret.md)`, /links to files.*\.\.\/secret/],
  ['a link out of it by its name', `${head}[x][y]\n\n[y]: ../secret.md`, /links to files.*\.\.\/secret/],
  ['a link to a file of the machine', `${head}[x](file:///etc/passwd)`, /links to files.*file:/],
  ['a link to nothing', `${head}[x](reference/b.md)`, /links to files/],
  ['too much', `${head}${'x'.repeat(maxSkillDocument)}`, /at most 65536/],
] as const)
  test(`${what} is refused with the fault`, () => {
    assert.throws(() => read(text), message);
  });
