import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileFlagsOf } from './flags.ts';

const cases: readonly (readonly [string, readonly string[]])[] = [
  ['src/cart.ts', []],
  ['README.md', []],
  ['docs/package-guide.md', []],
  ['src/makefile-parser.ts', []],
  ['.github/workflows/ci.yml', ['ci']],
  ['.GitHub/workflows/ci.yml', ['ci']],
  ['.gitlab-ci.yml', ['ci']],
  ['deploy/Jenkinsfile', ['ci']],
  ['Makefile', ['build_script']],
  ['native/CMakeLists.txt', ['build_script']],
  ['images/Dockerfile.dev', ['build_script']],
  ['.vscode/tasks.json', ['build_script']],
  ['.husky/pre-commit', ['hook']],
  ['.gitattributes', ['hook']],
  ['packages/a/package.json', ['dependencies']],
  ['go.sum', ['dependencies']],
  ['requirements-dev.txt', ['dependencies']],
  ['AGENTS.md', ['agent_instructions']],
  ['sub/.claude/settings.json', ['agent_instructions']],
  ['vendor/.git/config', ['nested_git']],
  ['vendor/.GIT /hooks/post-checkout', ['nested_git']],
  ['vendor/git~1/config', ['nested_git']],
  ['.git', ['nested_git']],
  ['.gitmodules', ['nested_git']],
  ['.github/copilot-instructions.md', ['ci', 'agent_instructions']],
];

for (const [path, flags] of cases)
  test(`${path} is flagged ${flags.join(', ') || 'nothing'}`, () => {
    assert.deepEqual(fileFlagsOf(path), flags);
  });

test('a rename out of dedicated control keeps the flag of the old name', () => {
  assert.deepEqual(fileFlagsOf('notes/old-ci.yml', '.github/workflows/ci.yml'), ['ci']);
});
