import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ExporterConfig } from '../config.ts';
import { createSinks } from './registry.ts';

const folder = mkdtempSync(join(tmpdir(), 'sinks-'));
after(() => rmSync(folder, { recursive: true }));

function sinksOf(yaml: string, environment: Readonly<Record<string, string>> = {}) {
  const path = join(folder, 'sinks.yaml');
  writeFileSync(path, yaml);
  return createSinks({ LEMNISCATE_SINKS: path } as ExporterConfig, environment);
}

test('each kind is built from its entry, with its secret by reference and its start', () => {
  const sinks = sinksOf(
    `sinks:
  - { kind: syslog, host: siem.example.org, caFile: /ca.pem, from: now }
  - { kind: splunk, url: 'https://s:8088', token: { env: TOKEN }, from: 4711 }
  - { kind: elastic, url: 'https://e', index: audit, apiKey: { env: TOKEN } }
  - { kind: ocsf, url: 'https://o' }
  - { kind: otlp, url: 'https://c' }
  - { kind: sentinel, url: 'https://d', rule: r, stream: s, tenant: t, clientId: c, clientSecret: { env: TOKEN } }
  - { kind: s3, endpoint: 'https://s3', bucket: b, accessKeyId: k, secretAccessKey: { env: TOKEN }, lockDays: 30 }
  - { kind: file, path: /tmp/audit.ndjson }
`,
    { TOKEN: 'hidden' },
  );
  assert.deepEqual(
    sinks.map(({ name, start }) => [name, start]),
    [
      ['syslog:siem.example.org:6514', 'now'],
      ['splunk:https://s:8088', 4711],
      ['elastic:https://e/audit', 0],
      ['ocsf:https://o', 0],
      ['otlp:https://c', 0],
      ['sentinel:https://d/r/s', 0],
      ['s3:https://s3/b/audit/', 0],
      ['file:/tmp/audit.ndjson', 0],
    ],
  );
});

test('what is wrong is named, never a secret, and two sinks of one place are refused', () => {
  for (const [yaml, fault] of [
    ['sinks: [{ kind: pigeon }]', /sinks\.0\.kind/],
    ['sinks: [{ kind: ocsf, url: "https://o", from: later }]', /sinks\.0\.from/],
    ['sinks: [{ kind: ocsf, url: "ftp://o" }]', /sinks\.0\.url/],
    ['sinks: [{ kind: ocsf, url: "https://o", colour: red }]', /colour/],
    ['sinks: [{ kind: splunk, url: "https://s", token: verysecret }]', /sinks\.0\.token/],
    [
      'sinks: [{ kind: splunk, url: "https://s", token: { env: NONE } }]',
      /the variable NONE, which is empty/,
    ],
    ['sinks: [{ kind: otlp, url: "https://c" }, { kind: otlp, url: "https://c" }]', /configured twice/],
    ['sinks: [', /cannot be read/],
  ] as const)
    assert.throws(
      () => sinksOf(yaml),
      (error: Error) => fault.test(error.message) && !error.message.includes('verysecret'),
      yaml,
    );
});
