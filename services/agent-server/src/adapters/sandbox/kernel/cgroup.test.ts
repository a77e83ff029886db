import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseCounter } from './cgroup-files.ts';
import { readCgroupMounts } from './cgroup.ts';

const version1 = [
  '30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
  '31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct',
  '32 24 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd',
];
const unified = '33 24 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw';

it('reads controllers and where they are mounted', () => {
  const { version1: found, version2 } = readCgroupMounts(version1.join('\n'), () => '');
  assert.deepEqual(Object.fromEntries(found), {
    memory: '/sys/fs/cgroup/memory',
    cpu: '/sys/fs/cgroup/cpu,cpuacct',
    cpuacct: '/sys/fs/cgroup/cpu,cpuacct',
  });
  assert.equal(version2, null);
});

it('takes version 2 only where it has the memory controller', () => {
  const lines = [...version1, unified].join('\n');
  assert.equal(readCgroupMounts(lines, () => 'hugetlb').version2, null);
  assert.equal(readCgroupMounts(lines, () => 'cpuset cpu io memory pids').version2, '/sys/fs/cgroup/unified');
});

it('finds one counter among others, and says when there is none', () => {
  const text = 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n';
  assert.equal(parseCounter(text, 'oom_kill'), 3);
  assert.equal(parseCounter(text, 'missing'), null);
  assert.equal(parseCounter(null, 'oom_kill'), null);
});
