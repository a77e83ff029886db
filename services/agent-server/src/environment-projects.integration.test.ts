import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startBench } from './testing/agent-server-bench.ts';
import { commitAll, environmentBench } from './testing/environment-bench.ts';
import { publishDistributionPackage, publishPackage, startPackageMirror } from './testing/package-mirror.ts';

const projectRoot = join(import.meta.dirname, '../../..');
const has = (program: string): boolean => {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const hasPackage = (name: string): boolean => {
  try {
    execFileSync('dpkg', ['-L', name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-project-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// Each project's tests run in a session that has no network; without the environment they cannot, which is shown first.

test(
  'the sample project of `npm start`',
  { skip: has('npm') ? false : 'npm: not on this machine' },
  async (t) => {
    const bench = await startBench(t, { capacity: 4 });
    const path = scratch(t);
    cpSync(join(projectRoot, 'infra/local/sample'), path, { recursive: true });
    commitAll(path);
    const environment = {
      prepare: 'npm install --offline --no-audit --no-fund; node --version > "$HOME/node-version"',
      lockfiles: ['package.json'],
      variables: {},
    };
    const { build, run } = environmentBench(bench, path, environment);
    const built = await build();
    assert.equal(built.reason, 'finished', built.message);
    const used = await run(built, 'cat ~/node-version; npm test 2>&1 | tail -n 40');
    assert.match(used.stdout, /^v\d+\./);
    assert.match(used.stdout, /pass \d+/, 'its suite has run');
  },
);

test(
  'a package of npm with dependencies and its own test suite',
  { skip: has('npm') ? false : 'npm: not on this machine' },
  async (t) => {
    const mirror = await startPackageMirror(t);
    const bench = await startBench(t, { capacity: 4 }, mirror.outside);
    const path = scratch(t);
    cpSync(join(projectRoot, 'node_modules/safe-regex2'), path, { recursive: true });
    const dependency = publishPackage(mirror, join(projectRoot, 'node_modules/ret'));
    const manifest = { name: 'safe-regex2', version: '1.0.0', dependencies: { ret: '*' } };
    writeFileSync(join(path, 'package.json'), JSON.stringify(manifest));
    writeFileSync(
      join(path, 'package-lock.json'),
      JSON.stringify({ ...manifest, lockfileVersion: 3, packages: { '': manifest, ...dependency } }),
    );
    writeFileSync(join(path, 'authority.pem'), mirror.authority);
    commitAll(path);
    const environment = {
      prepare: `npm ci --no-audit --no-fund --fetch-retries 0 --cafile authority.pem --registry ${mirror.url}`,
      lockfiles: ['package.json', 'package-lock.json', 'authority.pem'],
      variables: {},
    };
    const { build, run, runWithout } = environmentBench(bench, path, environment);
    const suite = 'node --test test/regex.test.js 2>&1 | tail -n 60';
    assert.match((await runWithout(suite)).stdout, /Cannot find module 'ret'/);
    const refused = await build({ egress: ['other.example.org'] });
    assert.equal(
      refused.reason,
      'environment_failed',
      'the proxy lets it reach what is named and nothing else',
    );
    assert.equal(mirror.asked.length, 0);
    const built = await build({ egress: [mirror.rule] });
    assert.equal(built.reason, 'finished', built.message);
    assert.deepEqual(built.environment?.installed, ['node_modules']);
    assert.ok(mirror.asked.some((path) => path.startsWith('/ret/')));
    const asked = mirror.asked.length;
    const used = await run(built, suite);
    assert.match(used.stdout, /pass [1-9]\d*/);
    assert.match(used.stdout, /fail 0/);
    assert.equal(mirror.asked.length, asked, 'a session asks nobody');
    assert.equal(used.patch, '');
  },
);

const debian = has('apt-get') && has('dpkg-deb') && hasPackage('python3-six');

test(
  'a Python project whose dependencies come from the distribution',
  { skip: debian ? false : 'debian: no apt with python3-six on this machine' },
  async (t) => {
    const mirror = await startPackageMirror(t);
    publishDistributionPackage(t, mirror, 'python3-six');
    const bench = await startBench(t, { capacity: 4 }, mirror.outside);
    const path = scratch(t);
    writeFileSync(join(path, 'packages.txt'), 'python3-six\n');
    writeFileSync(join(path, 'authority.pem'), mirror.authority);
    writeFileSync(
      join(path, 'test_shout.py'),
      'import unittest, six\n\n\nclass Shout(unittest.TestCase):\n    def test_text(self):\n        self.assertEqual(six.ensure_str(b"hey"), "hey")\n        self.assertIn("debian", six.__file__)\n',
    );
    commitAll(path);
    const environment = {
      prepare: [
        'root=$HOME/debian; mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"',
        'options="-o Dir::State=$root/state -o Dir::State::status=/dev/null -o Dir::Cache=$root/cache"',
        'options="$options -o Dir::Etc::sourcelist=$root/sources -o Dir::Etc::sourceparts=-"',
        'options="$options -o Acquire::https::Proxy=$HTTPS_PROXY -o Acquire::https::CAInfo=/workspace/authority.pem"',
        `echo "deb [trusted=yes] ${mirror.url} ./" > "$root/sources"`,
        'apt-get $options update; cd "$root/cache"; apt-get $options download $(cat /workspace/packages.txt)',
        'for package in *.deb; do dpkg-deb -x "$package" "$root"; done; rm -rf "$root/cache" "$root/state"',
      ].join('\n'),
      lockfiles: ['packages.txt', 'authority.pem'],
      variables: { PYTHONPATH: '/home/agent/debian/usr/lib/python3/dist-packages' },
    };
    const { build, run, runWithout } = environmentBench(bench, path, environment);
    // -S leaves out what this machine itself has installed
    const suite = '/usr/bin/python3 -S -m unittest -v 2>&1';
    assert.match((await runWithout(suite)).stdout, /No module named 'six'/);
    const built = await build({ egress: [mirror.rule] });
    assert.equal(built.reason, 'finished', built.message);
    assert.match((await run(built, suite)).stdout, /test_text .*ok[^]*Ran 1 test[^]*OK/);
  },
);
