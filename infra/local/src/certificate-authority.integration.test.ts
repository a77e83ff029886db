import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, truncateSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect, createServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { openCertificateAuthority } from './certificate-authority.ts';
import type { CertificateAuthority, CertificateFiles } from './certificate-authority.ts';
import { scratchFolder } from './testing/scratch-folder.ts';

const day = 24 * 60 * 60 * 1000;
const serialOf = (files: CertificateFiles) =>
  new X509Certificate(readFileSync(files.certificate)).serialNumber;

test('a certificate names role and server, is good for the loopback address and is kept', async (t) => {
  const folder = scratchFolder(t);
  const authority = await openCertificateAuthority(folder);
  const files = await authority.certificateFor('agent-server', 'one');
  const certificate = new X509Certificate(readFileSync(files.certificate));
  assert.equal(
    certificate.subjectAltName,
    'URI:spiffe://lemniscate/agent-server/one, DNS:localhost, IP Address:127.0.0.1',
  );
  assert.equal(certificate.ca, false);
  for (const file of [files.key, authority.key]) assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = await openCertificateAuthority(folder);
  assert.equal(serialOf(again), serialOf(authority));
  assert.equal(serialOf(await again.certificateFor('agent-server', 'one')), certificate.serialNumber);
  assert.notEqual(serialOf(await again.certificateFor('agent-server', 'two')), certificate.serialNumber);
});

test('what nears its end, is damaged or belongs to another authority is issued anew', async (t) => {
  const folder = scratchFolder(t);
  const authority = await openCertificateAuthority(folder);
  const first = serialOf(await authority.certificateFor('dispatcher', 'local'));
  const later = await openCertificateAuthority(folder, () => new Date(Date.now() + 21 * day));
  const renewedFiles = await later.certificateFor('dispatcher', 'local');
  const renewed = serialOf(renewedFiles);
  assert.notEqual(renewed, first);
  truncateSync(renewedFiles.certificate, 100);
  const repaired = serialOf(await later.certificateFor('dispatcher', 'local'));
  assert.notEqual(repaired, renewed);
  truncateSync(authority.key, 10);
  const anew = await openCertificateAuthority(folder);
  assert.notEqual(serialOf(anew), serialOf({ ...authority, certificate: renewedFiles.certificate }));
  const ofNew = await anew.certificateFor('dispatcher', 'local');
  const issuer = new X509Certificate(readFileSync(anew.certificate));
  assert.ok(new X509Certificate(readFileSync(ofNew.certificate)).verify(issuer.publicKey));
});

test('both sides of a connection must be of the authority', async (t) => {
  const authority = await openCertificateAuthority(scratchFolder(t));
  const stranger = await openCertificateAuthority(scratchFolder(t));
  const port = await serve(t, authority);
  const own = await authority.certificateFor('dispatcher', 'local');
  assert.equal(await talk(port, authority, own), 'spiffe://lemniscate/dispatcher/local');
  const foreign = await stranger.certificateFor('dispatcher', 'local');
  await assert.rejects(talk(port, authority, foreign));
  await assert.rejects(talk(port, authority, undefined));
  await assert.rejects(talk(port, stranger, own), /self-signed|unable to verify/);
});

/** Answers a peer with the URI of its certificate. */
async function serve(test: TestContext, authority: CertificateAuthority): Promise<number> {
  const files = await authority.certificateFor('agent-server', 'one');
  const server = createServer(
    {
      ca: readFileSync(authority.certificate),
      cert: readFileSync(files.certificate),
      key: readFileSync(files.key),
      requestCert: true,
      rejectUnauthorized: true,
    },
    (socket: TLSSocket) => {
      socket.on('error', () => socket.destroy());
      const uri = /URI:([^,]+)/.exec(socket.getPeerX509Certificate()?.subjectAltName ?? '')?.[1];
      socket.end(uri ?? 'nobody');
    },
  );
  await new Promise<void>((settle) => void server.listen(0, '127.0.0.1', settle));
  test.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function talk(port: number, trusted: CertificateFiles, own: CertificateFiles | undefined): Promise<string> {
  return new Promise((settle, fail) => {
    let heard = '';
    const socket = connect({
      port,
      host: '127.0.0.1',
      ca: readFileSync(trusted.certificate),
      ...(own === undefined ? {} : { cert: readFileSync(own.certificate), key: readFileSync(own.key) }),
    });
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (heard += chunk));
    socket.once('end', () => (heard === '' ? fail(new Error('nothing was heard')) : settle(heard)));
    socket.once('error', fail);
  });
}
