import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../project-root.ts';

const run = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

function noEngine(): string | false {
  try {
    run('docker', ['version']);
    return false;
  } catch {
    return 'docker-engine: no engine answers on this machine';
  }
}

/** Those that are made of packages alone; a debootstrap, which the others begin with, takes minutes. */
type Image = 'dispatcher' | 'audit-exporter';

test(
  'dispatcher and exporter, each built twice, under another umask and zone, are the same images',
  { skip: noEngine() },
  async (t) => {
    // names of its own: the images that other tests use stay as they are
    const IMAGE_PREFIX = `lemniscate-twice-${process.pid}`;
    const made = new Set<string>();
    t.after(() => {
      for (const name of made) run('docker', ['rmi', '--force', name]);
    });
    const build = async (
      image: Image,
      umask: string,
      environment: Readonly<Record<string, string>>,
    ): Promise<{ tag: string; id: string }> => {
      const command = `umask ${umask}; exec "$0" ${image}`;
      const { stdout } = await promisify(execFile)(
        'bash',
        ['-c', command, join(projectRoot, 'infra/images/build.sh')],
        { env: { ...process.env, IMAGE_PREFIX, ...environment }, maxBuffer: 64 * 1024 * 1024 },
      );
      const names = [stdout.trim(), `${IMAGE_PREFIX}/${image}:latest`];
      for (const name of names) made.add(name);
      const [tag = ''] = names;
      const id = run('docker', ['image', 'inspect', '--format', '{{.Id}}', tag]);
      // or the next build would find it and do nothing
      run('docker', ['rmi', ...names]);
      for (const name of names) made.delete(name);
      return { tag, id };
    };
    const here = { TZ: 'UTC', LC_ALL: 'C' };
    const twice = async (image: Image): Promise<string> => {
      const first = await build(image, '022', here);
      assert.match(first.id, /^sha256:[0-9a-f]{64}$/);
      assert.deepEqual(await build(image, '077', { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' }), first);
      return first.id;
    };
    await twice('dispatcher');
    const exporter = await twice('audit-exporter');
    // other times are another image, so the comparison sees what is in it
    const other = await build('audit-exporter', '022', { ...here, SOURCE_DATE_EPOCH: '1700000000' });
    assert.notEqual(other.id, exporter);
  },
);
