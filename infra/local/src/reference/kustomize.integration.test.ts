import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { manifestFaults } from './kubernetes-schemas.ts';

// The Kustomize of Debian's kubectl is years behind: what it takes every newer one takes as well.

const folder = join(projectRoot, 'infra/kubernetes');
const kubectl = process.env['LEMNISCATE_TEST_KUBECTL'] ?? '';
const noKubectl = kubectl === '' ? 'kubectl: the package kubernetes-client cannot be had' : false;
const manifest = z.looseObject({ kind: z.string() });
const kustomize = (path: string) =>
  spawnSync(kubectl, ['kustomize', path], { encoding: 'utf8', timeout: 60_000 });

test(
  'Kustomize makes of the manifests what the schemas take, with the images by digest',
  { skip: noKubectl },
  () => {
    const built = kustomize(folder);
    assert.equal(built.status, 0, built.stderr);
    const made = parseAllDocuments(built.stdout).map((document) => manifest.parse(document.toJS()));
    assert.ok(made.length >= 10);
    assert.deepEqual(made.flatMap(manifestFaults), []);
    const images = [...built.stdout.matchAll(/image: (\S+)/g)].map(([, image = '']) => image);
    assert.equal(images.length, 2);
    for (const image of images) assert.match(image, /@sha256:[0-9a-f]{64}$/);
  },
);

test('a file that Kustomize is told of and that is not there is an error', { skip: noKubectl }, (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'lemniscate-kustomize-'));
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(folder, copy, { recursive: true });
  const file = join(copy, 'kustomization.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('network.yaml', 'net.yaml'));
  const built = kustomize(copy);
  assert.notEqual(built.status, 0);
  assert.match(built.stderr, /net\.yaml/);
});
