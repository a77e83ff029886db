import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { scratchFolder } from '../testing/scratch-folder.ts';

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

function noEngine(): string | false {
  try {
    run('docker', 'version');
    return false;
  } catch {
    return 'docker-engine: no engine answers on this machine';
  }
}

const billSchema = z.object({
  spdxVersion: z.literal('SPDX-2.3'),
  packages: z.array(z.looseObject({ name: z.string(), versionInfo: z.string() })),
});

test(
  'an image of a release is kept with its version: its archive is the image, and its bill says what is in it',
  { skip: noEngine() },
  (t) => {
    const folder = scratchFolder(t);
    const built = run(join(projectRoot, 'infra/images/build.sh'), 'audit-exporter');
    const idOf = (image: string): string => run('docker', 'image', 'inspect', '--format', '{{.Id}}', image);
    const id = idOf(built);
    const version = `0.0.0-test.${process.pid}`;
    const released = `lemniscate/audit-exporter:${version}`;
    const keep = (...args: string[]) => run(join(projectRoot, 'infra/release/keep-image.sh'), ...args);
    keep(built, 'audit-exporter', version, folder);
    t.after(() => run('docker', 'rmi', released));
    const file = join(folder, `image-audit-exporter-${version}`);
    assert.deepEqual(
      readdirSync(folder).map((name) => join(folder, name)),
      [`${file}.spdx.json`, `${file}.tar.zst`],
    );

    run('docker', 'rmi', released);
    assert.throws(() => idOf(released));
    run('bash', '-c', 'set -o pipefail; zstd -dqc "$0" | docker load', `${file}.tar.zst`);
    assert.equal(idOf(released), id);

    const { packages } = billSchema.parse(JSON.parse(readFileSync(`${file}.spdx.json`, 'utf8')));
    const lock = z
      .object({ packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })) })
      .parse(JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')));
    const listed = packages.find(({ name }) => name === 'pg');
    assert.equal(listed?.versionInfo, lock.packages['node_modules/pg']?.version);
    assert.ok(
      packages.some(({ name }) => name === 'libc6'),
      'Debian’s packages as well',
    );
    assert.ok(!packages.some(({ name }) => name === 'oxlint'), 'nothing of development');
    assert.throws(() => keep('lemniscate/none:none', 'none', version, folder));
  },
);
