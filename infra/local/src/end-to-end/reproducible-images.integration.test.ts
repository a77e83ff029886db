import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';

const run = (command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env }).trim();

function noEngine(): string | false {
  try {
    run('docker', ['version']);
    return false;
  } catch {
    return 'docker-engine: no engine answers on this machine';
  }
}

test(
  'an image that is built twice, under another umask and zone, is the same image',
  { skip: noEngine() },
  (t) => {
    // names of its own: the images that other tests use stay as they are
    const IMAGE_PREFIX = `lemniscate-twice-${process.pid}`;
    const made = new Set<string>();
    t.after(() => {
      for (const name of made) run('docker', ['rmi', '--force', name]);
    });
    const build = (
      umask: string,
      environment: Readonly<Record<string, string>>,
    ): { tag: string; id: string } => {
      const script = join(projectRoot, 'infra/images/build.sh');
      const env = { ...process.env, IMAGE_PREFIX, ...environment };
      const tag = run('bash', ['-c', `umask ${umask}; exec "$0" audit-exporter`, script], env);
      const latest = `${IMAGE_PREFIX}/audit-exporter:latest`;
      for (const name of [tag, latest]) made.add(name);
      const id = run('docker', ['image', 'inspect', '--format', '{{.Id}}', tag]);
      // or the next build would find it and do nothing
      run('docker', ['rmi', tag, latest]);
      for (const name of [tag, latest]) made.delete(name);
      return { tag, id };
    };
    const first = build('022', { TZ: 'UTC', LC_ALL: 'C' });
    assert.match(first.id, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual(build('077', { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' }), first);
    // other times are another image, so the comparison sees what is in it
    assert.notEqual(build('022', { SOURCE_DATE_EPOCH: '1700000000' }).id, first.id);
  },
);
