import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { findProgram, requirePrograms } from './packages.ts';

test('what is there is found and nothing is installed', () => {
  assert.match(findProgram('sh') ?? '', /\/sh$/);
  assert.equal(findProgram('no-such-program'), undefined);
  assert.deepEqual(requirePrograms([{ program: 'sh', package: 'dash' }]), []);
});

test('a person who may not install is told the one command', { skip: cannotDropPrivileges() }, () => {
  const file = join(import.meta.dirname, 'packages.ts');
  const script = `
    const { requirePrograms } = await import(${JSON.stringify(file)});
    try { requirePrograms([{ program: 'no-such-program', package: 'no-such-package' }]); }
    catch (error) { console.log(error.code, error.message); }`;
  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups', '--no-new-privs'];
  const passage = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const run = spawnSync(
    'setpriv',
    [...nobody, ...passage, '--', process.execPath, '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  );
  assert.equal(run.stderr, '');
  assert.match(
    run.stdout,
    /^package_missing This machine has no no-such-program.*apt-get install -y --no-install-recommends no-such-package/,
  );
});

function cannotDropPrivileges(): string | false {
  return process.getuid?.() === 0 ? false : 'root: only root can become another user';
}
