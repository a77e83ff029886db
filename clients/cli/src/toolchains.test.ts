import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { findToolchains } from './toolchains.ts';

// not under /tmp, which is closed: a sandbox has its own
let home = '';
before(async () => {
  home = await realpath(await mkdtemp(join(homedir(), 'lemniscate-toolchains-')));
});
after(() => rm(home, { recursive: true, force: true }));

/** Files of a home, empty where nothing else is said. */
async function lay(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
}
const find = (...path: string[]) =>
  findToolchains({
    HOME: home,
    PATH: path.map((entry) => (entry.startsWith('/') ? entry : join(home, entry))).join(':'),
  });
/** What makes a folder one of Node. */
const tool = (folder: string) => ({
  [`${folder}/bin/node`]: '',
  [`${folder}/include/node/node.h`]: '',
});
const inHome = (...names: string[]): string[] => names.map((name) => join(home, name));

test('what the PATH leads to is found, in its order: nvm, plain go, a JDK behind a link', async () => {
  const node = '.nvm/versions/node/v22.3.0';
  await lay({
    [`${node}/bin/node`]: '',
    [`${node}/include/node/node.h`]: '',
    'go/bin/go': '',
    'go/VERSION': 'go1.26',
    'go/src/a': '',
    '.sdkman/candidates/java/21/bin/java': '',
    '.sdkman/candidates/java/21/release': '',
  });
  await symlink('21', join(home, '.sdkman/candidates/java/current'));
  assert.deepEqual(
    await find(
      '/usr/bin',
      '.sdkman/candidates/java/current/bin',
      'nowhere/bin',
      `${node}/bin`,
      'go/bin',
      `${node}/bin`,
    ),
    inHome('.sdkman/candidates/java/21', node, 'go'),
  );
});

test('shims lead to the version that is set: pyenv, asdf, rustup', async () => {
  const stable = '.rustup/toolchains/stable-x86_64-unknown-linux-gnu';
  await lay({
    '.pyenv/version': '3.13.1\n',
    '.pyenv/shims/python3': '',
    '.pyenv/versions/3.13.1/bin/python3': '',
    '.pyenv/versions/3.13.1/lib/python3.13/os.py': '',
    '.pyenv/versions/3.9.0/bin/python3': '',
    '.pyenv/versions/3.9.0/lib/python3.9/os.py': '',
    '.tool-versions': 'ruby 3.4.1\n# none\nbad ../../..\n',
    '.asdf/shims/ruby': '',
    '.asdf/installs/ruby/3.4.1/bin/ruby': '',
    '.asdf/installs/ruby/3.4.1/lib/ruby/a': '',
    '.cargo/bin/rustup': '',
    '.cargo/bin/rustc': '',
    '.cargo/credentials.toml': 'token = "secret"',
    '.rustup/settings.toml': 'default_toolchain = "stable-x86_64-unknown-linux-gnu"\n',
    [`${stable}/bin/rustc`]: '',
    [`${stable}/lib/rustlib/a`]: '',
  });
  assert.deepEqual(
    await find('.pyenv/shims', '.asdf/shims', '.cargo/bin'),
    inHome('.pyenv/versions/3.13.1', '.asdf/installs/ruby/3.4.1', stable),
  );
});

test('nothing that holds secrets is found, whatever lies in it', async () => {
  // each would be found, were it not where it is
  await lay({ ...tool('kits/node'), ...tool('.'), ...tool('.local'), ...tool('.ssh') });
  await lay({ ...tool('kits/login'), 'kits/login/etc/npmrc': '//r.example/:_authToken=secret\n' });
  await lay({ ...tool('kits/a,b'), 'kits/plain/bin/run': '' });
  await symlink(join(home, '.ssh'), join(home, 'kits/ssh'));
  assert.deepEqual(
    await find(
      'kits/node/bin',
      'bin',
      '.local/bin',
      '.ssh/bin',
      'kits/ssh/bin',
      'kits/login/bin',
      'kits/a,b/bin',
      'kits/plain/bin',
    ),
    inHome('kits/node'),
  );
  await assert.doesNotReject(findToolchains({}));
  assert.deepEqual(
    await findToolchains({ HOME: home, PATH: 'kits/node/bin::.' }),
    [],
    'only absolute entries',
  );
});

test('where it cannot be told whether a secret is there, one is', async () => {
  await lay(tool('kits/untold'));
  assert.deepEqual(await find('kits/untold/bin'), inHome('kits/untold'));
  await mkdir(join(home, 'kits/untold/etc'), { recursive: true });
  // asked for, the system answers with a fault: the name leads to itself
  await symlink('npmrc', join(home, 'kits/untold/etc/npmrc'));
  assert.deepEqual(await find('kits/untold/bin'), []);
});
