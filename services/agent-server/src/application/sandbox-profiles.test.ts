import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProfiles } from './sandbox-profiles.ts';

test('without a file there is one profile, and a file changes what it names', () => {
  const [built] = readProfiles(undefined);
  assert.equal(built?.name, 'default');
  const read = readProfiles({
    profiles: {
      default: { memory: '1.5GiB' },
      big: { image: 'x:1', runtime: 'runsc', cpu: 0.5, disk: 64_000_000 },
    },
  });
  assert.deepEqual(
    read.map(({ name, memoryBytes, processes }) => [name, memoryBytes, processes]),
    [
      ['default', 1.5 * 1024 ** 3, built?.processes],
      ['big', built?.memoryBytes, built?.processes],
    ],
  );
  assert.deepEqual(
    [read[1]?.image, read[1]?.ociRuntime, read[1]?.cpus, read[1]?.diskBytes],
    ['x:1', 'runsc', 0.5, 64_000_000],
  );
});

test('toolchains are folders of the host', () => {
  const [profile] = readProfiles({ profiles: { default: { toolchains: ['/opt/go', '/home/me/.rustup'] } } });
  assert.deepEqual(profile?.toolchains, ['/opt/go', '/home/me/.rustup']);
});

test('what cannot be read is refused with its path', () => {
  for (const [document, fault] of [
    [{ profiles: { default: { memory: '2 gigs' } } }, /profiles\.default\.memory/],
    [{ profiles: { default: { mem: 1 } } }, /mem/],
    [{ profiles: { big: {} } }, /`default`/],
    [{ profiles: { default: { runtime: 'chroot' } } }, /runtime/],
    ['text', /object/],
    ...[
      'opt/go',
      '/',
      '/opt/../etc',
      '/opt/a:b',
      '/opt/a,ro',
      '/opt/',
      '/etc/ssl',
      '/var',
      '/home',
      '/workspace/x',
    ].map(
      (folder) =>
        [{ profiles: { default: { toolchains: [folder] } } }, /profiles\.default\.toolchains\.0/] as const,
    ),
  ] as const)
    assert.throws(() => readProfiles(document), { code: 'configuration_invalid', message: fault });
});
