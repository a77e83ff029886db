import { minimatch } from 'minimatch';
import type { FileFlag } from './diff.ts';

/**
 * What puts a changed file under dedicated control: it runs, or steers what runs, outside the sandbox once the diff
 * is applied. Patterns are matched against the path from the repository's root, case ignored, because file systems
 * of reviewers ignore it too.
 */
const flagPatterns = {
  ci: [
    '.github/**',
    '**/.gitlab-ci*.y*ml',
    '.gitlab/**',
    '**/.circleci/**',
    '**/.buildkite/**',
    '**/Jenkinsfile{,.*}',
    '**/azure-pipelines*.y*ml',
    '**/bitbucket-pipelines.y*ml',
    '**/.travis.y*ml',
    '**/.drone.y*ml',
    '**/.woodpecker/**',
    '**/.woodpecker.y*ml',
    '**/appveyor.y*ml',
    '**/cloudbuild.y*ml',
  ],
  build_script: [
    '**/Makefile{,.*}',
    '**/GNUmakefile',
    '**/*.mk',
    '**/CMakeLists.txt',
    '**/*.cmake',
    '**/Dockerfile{,.*}',
    '**/*.dockerfile',
    '**/Containerfile{,.*}',
    '**/docker-compose*.y*ml',
    '**/compose*.y*ml',
    '**/*.gradle',
    '**/*.gradle.kts',
    '**/gradlew{,.bat}',
    '**/gradle/wrapper/**',
    '**/mvnw{,.cmd}',
    '**/.mvn/**',
    '**/build.rs',
    '**/build.sbt',
    '**/build.xml',
    '**/setup.py',
    '**/conftest.py',
    '**/noxfile.py',
    '**/tox.ini',
    '**/Rakefile',
    '**/justfile',
    '**/Taskfile.y*ml',
    '**/BUILD',
    '**/BUILD.bazel',
    '**/WORKSPACE{,.bazel,.bzlmod}',
    '**/MODULE.bazel',
    '**/.bazelrc',
    '**/binding.gyp',
    '**/Gruntfile.*',
    '**/gulpfile.*',
    '**/turbo.json',
    '**/.vscode/**',
    '**/.idea/**',
    '**/.devcontainer/**',
    '**/.devcontainer.json',
  ],
  hook: [
    '**/.husky/**',
    '**/.githooks/**',
    '**/.gitattributes',
    '**/.pre-commit-config.y*ml',
    '**/.pre-commit-hooks.y*ml',
    '**/lefthook*.y*ml',
    '**/.lintstagedrc*',
    '**/lint-staged.config.*',
    '**/.envrc',
    '**/.mise.toml',
    '**/.tool-versions',
  ],
  dependencies: [
    '**/package.json',
    '**/package-lock.json',
    '**/npm-shrinkwrap.json',
    '**/yarn.lock',
    '**/pnpm-lock.yaml',
    '**/pnpm-workspace.yaml',
    '**/bun.lock*',
    '**/deno.json*',
    '**/deno.lock',
    '**/.npmrc',
    '**/.yarnrc*',
    '**/.yarn/**',
    '**/.pnpmfile.cjs',
    '**/*requirements*.txt',
    '**/constraints*.txt',
    '**/pyproject.toml',
    '**/setup.cfg',
    '**/poetry.lock',
    '**/uv.lock',
    '**/pdm.lock',
    '**/Pipfile{,.lock}',
    '**/pip.conf',
    '**/go.mod',
    '**/go.sum',
    '**/go.work*',
    '**/Cargo.toml',
    '**/Cargo.lock',
    '**/.cargo/**',
    '**/pom.xml',
    '**/*.versions.toml',
    '**/Gemfile{,.lock}',
    '**/*.gemspec',
    '**/composer.json',
    '**/composer.lock',
    '**/*.csproj',
    '**/nuget.config',
    '**/packages.lock.json',
    '**/mix.exs',
    '**/mix.lock',
    '**/Package.swift',
    '**/Package.resolved',
    '**/Podfile{,.lock}',
    '**/flake.nix',
    '**/flake.lock',
  ],
  agent_instructions: [
    '**/AGENTS.md',
    '**/AGENTS.override.md',
    '**/CLAUDE.md',
    '**/CLAUDE.local.md',
    '**/GEMINI.md',
    '**/.agents/**',
    '**/.claude/**',
    '**/.codex/**',
    '**/.cursor/**',
    '**/.cursorrules',
    '**/.windsurfrules',
    '**/.aider*',
    '**/.mcp.json',
    '**/.github/copilot-instructions.md',
  ],
  nested_git: ['**/.gitmodules'],
} as const satisfies Readonly<Record<FileFlag, readonly string[]>>;

// A folder that some file system takes for `.git`: case, the short name of FAT, trailing dots, blanks or a stream.
const gitFolder = /^(?:\.git|git~\d+)[. ]*(?::.*)?$/i;

/**
 * Why the paths of a changed file put it under dedicated control. A renamed file counts under both of its names.
 * Pure, so that the agent server marks with it and the dispatcher checks the marks with it.
 */
export function fileFlagsOf(...paths: readonly (string | undefined)[]): FileFlag[] {
  const named = paths.filter((path) => path !== undefined);
  return (Object.keys(flagPatterns) as FileFlag[]).filter((flag) =>
    named.some((path) => hasFlag(flag, path)),
  );
}

function hasFlag(flag: FileFlag, path: string): boolean {
  if (flag === 'nested_git' && path.split(/[/\\]/).some((name) => gitFolder.test(name))) return true;
  return flagPatterns[flag].some((pattern) =>
    minimatch(path, pattern, { dot: true, nocase: true, nocomment: true, nonegate: true }),
  );
}
