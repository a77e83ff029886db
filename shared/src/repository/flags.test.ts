import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flaggedPattern } from '../policy/flagged-path.ts';
import { defaultFlaggedPaths } from '../policy/flagged-paths.ts';
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
  ['vendor/.GIT /hooks/post-checkout', ['hook', 'nested_git']],
  ['vendor/git~1/config', ['nested_git']],
  ['.git', ['nested_git']],
  ['vendor/.g\u200cit/config', ['nested_git']],
  ['.tekton/push.yaml', ['ci']],
  ['buildspec.yml', ['ci']],
  ['web/jest.config.ts', ['build_script']],
  ['.eslintrc.cjs', ['build_script']],
  ['configure', ['build_script']],
  ['src/configure.ts', []],
  ['rust-toolchain.toml', ['build_script']],
  ['conanfile.py', ['dependencies']],
  ['.windsurf/rules/a.md', ['agent_instructions']],
  ['.roorules-code', ['agent_instructions']],
  ['.gitmodules', ['nested_git']],
  ['web/vite.config.ts', ['build_script']],
  ['webpack.config.js', ['build_script']],
  ['rollup.config.mjs', ['build_script']],
  ['meson.build', ['build_script']],
  ['images/Dockerfile-dev', ['build_script']],
  ['lib/BUILD', ['build_script']],
  ['lib/build', ['build_script']],
  ['lib/build/index.ts', []],
  ['lib/build.ts', []],
  ['.forgejo/workflows/a.yml', ['ci']],
  ['.gitea/workflows/a.yml', ['ci']],
  ['vendor/a/.github/workflows/ci.yml', ['ci']],
  ['.husky', ['hook']],
  ['.huskyrc.json', ['hook']],
  ['requirements/dev.txt', ['dependencies']],
  ['environment.yml', ['dependencies']],
  ['AGENT.md', ['agent_instructions']],
  ['.gemini/settings.json', ['agent_instructions']],
  ['.clinerules', ['agent_instructions']],
  ['.clinerules/a.md', ['agent_instructions']],
  ['.github/copilot-instructions.md', ['ci', 'agent_instructions']],
];

for (const [path, flags] of cases)
  test(`${path} is flagged ${flags.join(', ') || 'nothing'}`, () => {
    assert.deepEqual(fileFlagsOf([path]), flags);
  });

test('a rename out of dedicated control keeps the flag of the old name', () => {
  assert.deepEqual(fileFlagsOf(['notes/old-ci.yml', '.github/workflows/ci.yml']), ['ci']);
});

test('the review marks every file that a write to asks for, by the table and by the policy', () => {
  for (const pattern of defaultFlaggedPaths) {
    const path = pattern
      .replace('**/', '')
      .replaceAll(/\{([^,}]*),[^}]*\}/g, '$1')
      .replaceAll('*', 'a');
    assert.equal(flaggedPattern([pattern], path), pattern, path);
    assert.notDeepEqual(fileFlagsOf([path]), [], path);
  }
  assert.deepEqual(fileFlagsOf(['deploy/prod.yaml', undefined], ['deploy/**']), ['policy']);
  assert.deepEqual(fileFlagsOf(['new.yaml', 'deploy/prod.yaml'], ['deploy/**']), ['policy']);
  assert.deepEqual(fileFlagsOf(['package.json'], ['package.json']), ['dependencies']);
  assert.deepEqual(fileFlagsOf(['src/a.ts'], ['deploy/**']), []);
});
