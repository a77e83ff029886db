import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pemCertificates } from './pem.ts';

const one = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
const other = '-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----';

test('a file of several certificates is taken apart, whatever stands between them', () => {
  assert.deepEqual(pemCertificates(`# the old one\n${one}\n\nsubject=CN = next\n${other}\n`), [one, other]);
});

test('keys and broken blocks are no certificates', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----';
  assert.deepEqual(pemCertificates(`${key}\n-----BEGIN CERTIFICATE-----\nAAAA`), []);
});
