import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../project-root.ts';
import { scratchFolder } from '../testing/scratch-folder.ts';

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  }).trim();

function noEngine(): string | false {
  try {
    run('docker', 'version');
    return false;
  } catch {
    return 'docker-engine: no engine answers on this machine';
  }
}

/** What builds each image, from the folder of images. */
const recipes = {
  dispatcher: ['build.sh', 'dispatcher'],
  'audit-exporter': ['build.sh', 'audit-exporter'],
  'agent-server': ['build.sh', 'agent-server'],
  'agent-base': ['agent-base/build.sh', 'slim'],
} as const;
type Image = keyof typeof recipes;

/** How a caller's shell is set up. */
interface Caller {
  readonly umask: string;
  readonly environment: Readonly<Record<string, string>>;
}
const one: Caller = { umask: '022', environment: { TZ: 'UTC', LC_ALL: 'C' } };
const another: Caller = { umask: '077', environment: { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' } };

/** Builds one image, in a folder of its own as every build does. @returns its tag */
async function build(image: Image, { umask, environment }: Caller): Promise<string> {
  const [script, what] = recipes[image];
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', `umask ${umask}; exec "$0" "$1"`, join(projectRoot, 'infra/images', script), what],
    { env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 * 1024 },
  );
  return stdout.trim();
}

/** The same in an image store of the test's own, where nothing is there already. */
async function buildAnew(t: TestContext, image: Image, name: string, caller: Caller): Promise<string> {
  // the images that other tests use stay as they are
  const prefix = `lemniscate-${name}-${process.pid}`;
  t.after(() => {
    const made = run('docker', 'image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', `${prefix}/${image}`);
    if (made !== '') run('docker', 'rmi', '--force', ...made.split('\n'));
  });
  return build(image, { ...caller, environment: { ...caller.environment, IMAGE_PREFIX: prefix } });
}

const idOf = (tag: string): string => run('docker', 'image', 'inspect', '--format', '{{.Id}}', tag);

/** Does something with a container of an image, which never runs. */
function withContainer<T>(tag: string, then: (container: string) => T): T {
  const container = run('docker', 'create', tag, 'true');
  try {
    return then(container);
  } finally {
    run('docker', 'rm', container);
  }
}

/** The versions of everything in an image, by its own bill of materials. */
const billOf = (tag: string): string =>
  withContainer(tag, (container) =>
    run('bash', '-c', 'docker cp "$0:/usr/share/lemniscate/sbom.spdx.json" - | tar -xO', container),
  );

/** Which files two images differ in, and in what: who fails has to see it. */
function differences(t: TestContext, tags: readonly [string, string]): string {
  const folder = scratchFolder(t);
  const lists = tags.map((tag, index) => {
    const root = join(folder, String(index));
    mkdirSync(root);
    withContainer(tag, (container) =>
      run('bash', '-c', 'docker export "$0" | tar -x -C "$1"', container, root),
    );
    return root;
  });
  const listed =
    'cd "$0"; find . -mindepth 1 -not -name .dockerenv -printf "%M %U %G %T@ %p %l\\n" | sort -k 5; find . -type f -exec sha256sum {} + | sort -k 2';
  const compared = `diff <(bash -c '${listed}' "$0") <(bash -c '${listed}' "$1") | head -n 40`;
  return run('bash', '-c', compared, ...lists);
}

function assertSame(t: TestContext, first: string, second: string): void {
  assert.notEqual(first, second, 'two builds');
  assert.match(idOf(first), /^sha256:[0-9a-f]{64}$/);
  if (idOf(first) === idOf(second)) return;
  assert.fail(`${first} and ${second} differ:\n${differences(t, [first, second])}`);
}

suite(
  'images built twice, for another registry and under another umask, zone and locale',
  { skip: noEngine() },
  () => {
    test('dispatcher and exporter are the same', async (t) => {
      for (const image of ['dispatcher', 'audit-exporter'] as const)
        assertSame(t, await buildAnew(t, image, 'first', one), await buildAnew(t, image, 'second', another));
      // other times are another image, so the comparison sees what is in it
      const later = { ...one, environment: { ...one.environment, SOURCE_DATE_EPOCH: '1700000000' } };
      const other = await buildAnew(t, 'audit-exporter', 'later', later);
      const exporter = await buildAnew(t, 'audit-exporter', 'first', one);
      assert.notEqual(idOf(other), idOf(exporter));
      assert.match(differences(t, [other, exporter]), /1700000000/);
    });

    // Each begins with a debootstrap, which takes a minute: the first build is the one that the other tests use, from
    // whenever it was made. Packages that came out since would make another image, and then both are built.
    test('agent-server and agent-base are the same, over two debootstraps', async (t) => {
      const twice = async (image: Image): Promise<void> => {
        const kept = await build(image, one);
        const second = await buildAnew(t, image, 'second', another);
        const first = billOf(kept) === billOf(second) ? kept : await buildAnew(t, image, 'first', one);
        assertSame(t, first, second);
      };
      await Promise.all([twice('agent-server'), twice('agent-base')]);
    });
  },
);
