import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { readVariables } from './configuration.ts';
import { manifestFaults } from './kubernetes-schemas.ts';

// What can be held of the manifests without a cluster: the published schemas, their own references, and the restricted Pod
// Security Standard.

const folder = join(projectRoot, 'infra/kubernetes');
const probe = z.looseObject({
  httpGet: z.object({ path: z.string(), port: z.string(), scheme: z.string().optional() }),
});
const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
  envFrom: z.array(z.looseObject({ configMapRef: z.object({ name: z.string() }).optional() })),
});
const deployment = z.object({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    replicas: z.number().min(2),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.looseObject({
          runAsNonRoot: z.literal(true),
          runAsUser: z.literal(10_001),
          seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
        }),
        hostNetwork: z.undefined().optional(),
        containers: z.array(container).min(1),
        volumes: z.array(z.looseObject({ name: z.string(), hostPath: z.undefined().optional() })),
      }),
    }),
  }),
});
const anything = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }).optional(),
});

const documents = globSync('*.yaml', { cwd: folder }).flatMap((file) =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => {
    assert.deepEqual(document.errors, [], file);
    return document.toJS() as unknown;
  }),
);
const ofKind = (kind: string) => documents.filter((one) => anything.parse(one).kind === kind);

test('every manifest is what the published schema of its kind takes', () => {
  // Kustomize reads its own file, the API server never sees it.
  const applied = documents.map((one) => anything.parse(one)).filter(({ kind }) => kind !== 'Kustomization');
  assert.ok(applied.length >= 10);
  assert.deepEqual(applied.flatMap(manifestFaults), []);
});

test('the check against the schemas can fail: wrong types, unknown fields and kinds are found', () => {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' } };
  assert.deepEqual(manifestFaults({ ...service, spec: { ports: [{ port: 7420 }] } }), []);
  assert.match(manifestFaults({ ...service, spec: { ports: [{ port: 'http' }] } })[0] ?? '', /integer|type/);
  assert.deepEqual(manifestFaults({ ...service, spec: { ports: [{ port: 7420, hostPort: 1 }] } }), [
    'v1 Service knows no /spec/ports/0/hostPort',
  ]);
  assert.deepEqual(manifestFaults({ ...service, apiVersion: 'v2' }), ['there is no schema of v2 Service']);
});

test('every container runs as the restricted standard wants it, with probes and bounds', () => {
  const deployments = ofKind('Deployment').map((one) => deployment.parse(one));
  assert.deepEqual(deployments.map(({ metadata }) => metadata.name).sort(), ['dispatcher', 'exporter']);
  for (const { spec } of deployments) {
    const { template, selector } = spec;
    assert.deepEqual(selector.matchLabels, template.metadata.labels);
    const volumes = new Set(template.spec.volumes.map(({ name }) => name));
    for (const { ports, livenessProbe, readinessProbe, volumeMounts } of template.spec.containers) {
      const named = ports.map(({ name }) => name);
      for (const { httpGet } of [livenessProbe, readinessProbe]) assert.ok(named.includes(httpGet.port));
      for (const { name } of volumeMounts) assert.ok(volumes.has(name), name);
    }
  }
});

test('the variables are those of the services, and no file holds a secret', () => {
  const variables = (service: string) =>
    readVariables(readFileSync(join(projectRoot, `services/${service}/src/config.ts`), 'utf8'));
  const data = new Map(
    ofKind('ConfigMap').map((one) => {
      const map = z
        .object({ metadata: z.object({ name: z.string() }), data: z.record(z.string(), z.string()) })
        .parse(one);
      return [map.metadata.name, Object.keys(map.data)];
    }),
  );
  for (const [map, service] of [
    ['lemniscate-dispatcher', 'dispatcher'],
    ['lemniscate-exporter', 'audit-exporter'],
  ] as const) {
    const known = variables(service);
    for (const name of data.get(map) ?? assert.fail(map)) {
      const found = known.find((variable) => variable.name === name);
      assert.ok(found !== undefined, `${name} is no variable of the ${service}`);
      assert.notEqual(found.takes, 'a secret', `${name} belongs into a Secret`);
    }
  }
  assert.deepEqual(ofKind('Secret'), []);
});

test('images are named by digest', () => {
  const { images } = z
    .looseObject({
      images: z.array(z.looseObject({ name: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
    })
    .parse(ofKind('Kustomization')[0]);
  const used = ofKind('Deployment').flatMap((one) =>
    deployment.parse(one).spec.template.spec.containers.map(({ image }) => image),
  );
  assert.deepEqual(images.map(({ name }) => name).sort(), used.sort());
});
