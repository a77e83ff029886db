import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '../clock.ts';
import { evaluateToolCall } from './evaluate.ts';
import { flaggedPattern } from './flagged-path.ts';
import { defaultFlaggedPaths } from './flagged-paths.ts';
import { requiredPeople } from './four-eyes.ts';
import { policyAdvice } from './policy-advice.ts';
import { readPolicy } from './policy-file.ts';
import type { Policy } from './policy.ts';

const free =
  '[git, npm, npx, kubectl, terraform, /usr/bin/git, cp, mv, ln, tee, touch, sed, install, echo, bash -c, find, xargs, rm, cd, curl, sort]';
const guarded = '[git push, npm publish, kubectl delete, terraform apply]';
const approval = readPolicy(
  `tools: {run_command: allow}\nfreeCommands: ${free}\napprovalCommands: ${guarded}`,
);
const several = readPolicy(
  `tools: {run_command: allow}\nfreeCommands: ${free}\nfourEyes: [{commands: ${guarded}}, {paths: ['.github/**'], people: 3}]`,
);
const call = (command: string) => ({ tool: 'run_command', arguments: { command } });
const verdict = (policy: Policy, command: string) => evaluateToolCall(policy, call(command)).verdict;

const hidden: readonly string[] = [
  'git push',
  'git -c http.proxy=x push',
  'git --git-dir=.git push',
  'git --git-dir .git push origin main',
  'git --no-pager push',
  'git -c alias.p=push p',
  '/usr/bin/git push',
  'npx terraform apply',
  'terraform -chdir=x apply',
  'npm -w a publish',
  'npm --silent publish',
  'kubectl -n prod delete pod x',
  'kubectl --context a -n prod delete pod x',
  'git $G',
  'git "$G" origin',
  'git pus?',
  'git p*',
  '$X push',
  '$X',
  'gi? push',
  'bash -c "git push"',
  'echo git push | sh',
  'echo push | xargs git',
  'find . -name a -exec git push \\;',
  'x=push; git $x',
  'git $(echo push)',
  'git pu{sh,ll}',
  'npm publ',
  'npx -y terraform apply',
  'timeout 5 git push',
  'sh -c "git $X"',
];

for (const command of hidden)
  test(`${command} may be a guarded command`, () => {
    assert.equal(verdict(approval, command), 'allowedWithPermission');
    assert.equal(verdict(several, command), 'allowedWithPermission');
    assert.equal(requiredPeople(several, call(command)), 2);
  });

const everyday: readonly string[] = [
  'git status',
  'git log --grep push',
  'git log $BRANCH',
  'git -C packages/a status',
  'git --no-pager diff',
  'git commit -m push',
  'git add *.ts && git commit -m "push it"',
  'npm test',
  'npm run publish-docs',
  'npm -w a test',
  'npm --silent run build',
  'kubectl -n prod get pods',
  'terraform -chdir=x plan',
  'terraform plan -out apply.plan',
  'npx tsc --noEmit',
  'cp src/a.ts src/b.ts',
  'touch src/new.ts',
  'find . -name "*.ts"',
  'sort -u a.txt',
  'rm -rf node_modules package-lock.json',
  'rm -rf build/*',
  'cd packages/a && npm test',
  'cp package.json /tmp/x',
  'cp package.json /tmp/kept/',
  'rm -f yarn.lock packages/a/Cargo.lock',
  'rm -rf dist/* coverage',
  'rm -rf build',
  'cp -r dist build',
  'rm -rf packages/*/dist',
  'rm -f *.log',
  'rm src/a.ts && git rm src/b.ts',
  'find src -name "*.orig" -exec rm {} +',
];

for (const command of everyday)
  test(`${command} stays free`, () => {
    assert.equal(verdict(approval, command), 'allowedWithoutPermission');
    assert.equal(verdict(several, command), 'allowedWithoutPermission');
    assert.equal(requiredPeople(several, call(command)), 1);
  });

const writes: readonly string[] = [
  'echo x > .github/workflows/ci.yml',
  'cp x .github/workflows/ci.yml',
  'cp -t .github/workflows x',
  'cd .github && cp x workflows/ci.yml',
  'mv ci .github',
  'mv .github/workflows/ci.yml old.yml',
  'ln -s /tmp/x .github/workflows/ci.yml',
  'install -m 644 x ./a/../.github/x',
  'echo x | tee -a .github/workflows/ci.yml',
  'sed -i s/a/b/ .github/workflows/ci.yml',
  'sed "w .github/x" a',
  'touch .github/x',
  'touch .github/*',
  'git mv a .github/x',
  'bash -c "cp x .github/y"',
  'find . -name a -exec cp {} .github/x \\;',
  'sort -o .github/x a',
  'curl -o .github/x https://example.org/x',
  'touch $F',
  'rm .github/workflows/ci.yml',
  'rm -rf .github',
  'rm -rf .github/*',
  'cd .github && rm -r workflows',
  'git rm -r .github/workflows',
  'find .github -name "*.yml" -exec rm {} +',
  'bash -c "rm -f .github/x"',
  'mv .github /tmp/x',
  'x=.github; rm -rf $x',
];

for (const command of writes)
  test(`${command} writes under dedicated control`, () => {
    assert.equal(verdict(approval, command), 'allowedWithPermission');
    assert.equal(requiredPeople(several, call(command)), 3);
  });

test('a write counts by the name that it gets', () => {
  assert.equal(verdict(approval, 'cp /tmp/package.json .'), 'allowedWithPermission');
  assert.equal(verdict(approval, 'cp x packages/a/package.json'), 'allowedWithPermission');
  assert.equal(verdict(approval, 'cp src/a.ts /tmp/copy'), 'allowedWithoutPermission');
  const reasons = evaluateToolCall(approval, call('cp x package.json')).reasons.join();
  assert.match(reasons, /under dedicated control \(\*\*\/package\.json\)/);
});

test('a command that nobody can read takes the greater number of people', () => {
  assert.equal(requiredPeople(several, call('echo (')), 3);
});

test('what several people approve is never free, by any tool', () => {
  const policy = readPolicy(
    'tools: {write_file: allow, a/b: allow}\nflaggedPaths: []\nfourEyes: [{tools: [a/b]}, {paths: [x/**]}]',
  );
  assert.equal(evaluateToolCall(policy, { tool: 'a/b', arguments: {} }).verdict, 'allowedWithPermission');
  const write = (path: string) =>
    evaluateToolCall(policy, { tool: 'write_file', arguments: { path } }).verdict;
  assert.equal(write('x/a'), 'allowedWithPermission');
  assert.equal(write('y/a'), 'allowedWithoutPermission');
});

test('a check of the policy tells of a free command that several people approve', () => {
  assert.match(policyAdvice(several).join('\n'), /several people.*: git, npm, kubectl, terraform\./);
  assert.doesNotMatch(policyAdvice(approval).join('\n'), /several people/);
});

const flagged: readonly string[] = [
  '.forgejo/workflows/a.yml',
  '.gitea/workflows/a.yml',
  '.drone.yml',
  '.woodpecker.yml',
  'appveyor.yml',
  'azure-pipelines.yaml',
  'azure-pipelines.yml',
  'GEMINI.md',
  '.gemini/settings.json',
  'CLAUDE.local.md',
  'AGENT.md',
  '.cursorrules',
  '.windsurfrules',
  '.clinerules',
  '.mcp.json',
  'uv.lock',
  'pdm.lock',
  'bun.lock',
  'bun.lockb',
  'deno.json',
  'deno.jsonc',
  'deno.lock',
  'mix.exs',
  'mix.lock',
  'Package.swift',
  'Package.resolved',
  'pubspec.yaml',
  'ios/Podfile',
  'a/b.csproj',
  'a/b.fsproj',
  'a/b.vbproj',
  'packages.config',
  'nuget.config',
  'NuGet.Config',
  'requirements/dev.txt',
  'requirements.in',
  'requirements-dev.in',
  'constraints.txt',
  'pnpm-workspace.yaml',
  '.pnpmfile.cjs',
  '.yarn/releases/yarn-4.cjs',
  '.yarn/plugins/x.cjs',
  'gradle/libs.versions.toml',
  'gradle/wrapper/gradle-wrapper.properties',
  'environment.yml',
  'flake.nix',
  'flake.lock',
  'setup.cfg',
  'GNUmakefile',
  'compose.yaml',
  'compose.yml',
  'docker-compose.override.yml',
  'Containerfile',
  'meson.build',
  'vite.config.ts',
  'webpack.config.js',
  'rollup.config.mjs',
  'gulpfile.js',
  'Gruntfile.js',
  'tox.ini',
  'noxfile.py',
  '.devcontainer/devcontainer.json',
  'hooks/pre-commit',
  'tools/hooks/post-checkout',
  '.lintstagedrc.json',
  '.husky/pre-push',
  'lib/BUILD',
  'WORKSPACE.bazel',
  'claude.md',
  'makefile',
  'app/deps.gradle',
  'build.sbt',
  'MODULE.bazel',
  'cmake/find.cmake',
  'cloudbuild.yaml',
  '.tool-versions',
];
test('files that run or steer something are under dedicated control by default', () => {
  const missing = flagged.filter((path) => flaggedPattern(defaultFlaggedPaths, path) === undefined);
  assert.deepEqual(missing, []);
  const ordinary = [
    'build',
    'a/build',
    'src/a.ts',
    'src/hooks/use-state.ts',
    'docs/flake.md',
    'src/compose.ts',
    'README.md',
  ];
  for (const path of ordinary) assert.equal(flaggedPattern(defaultFlaggedPaths, path), undefined, path);
});

test('hostile lists and depths of paths end in time', () => {
  const long = (part: string) => part.repeat(Math.floor(20_000 / part.length));
  const texts = [
    `touch ${long('a ')}`,
    `touch /${long('a/')}`,
    `touch ${long(`/${'a/'.repeat(60)} `)}`,
    long('ls>a;'),
    `git ${long('-c ')}`,
    `git ${long('-c a ')}`,
    long('$X;'),
  ];
  for (const text of texts) {
    const begin = threadProcessorMs();
    verdict(approval, text);
    // the slowest takes about a second; what this catches takes minutes
    assert.ok(threadProcessorMs() - begin < 15_000, text.slice(0, 20));
  }
});
