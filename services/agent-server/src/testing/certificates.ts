import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** PEM texts and the files that hold them. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A private authority for one test. */
export interface TestAuthority {
  readonly ca: string;
  readonly caFile: string;
  /** @param uri such as `spiffe://lemniscate/dispatcher/test` */
  issue(name: string, uri: string, validTo?: Date): Promise<IssuedCertificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const day = 24 * 60 * 60 * 1000;

/** Makes an authority whose files lie in `folder`. */
export async function createTestAuthority(folder: string, label = 'ca'): Promise<TestAuthority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authority = await X509CertificateGenerator.createSelfSigned({
    name: `CN=test ${label}`,
    keys,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  });
  const ca = authority.toString('pem');
  const caFile = join(folder, `${label}.pem`);
  writeFileSync(caFile, ca);

  async function issue(
    name: string,
    uri: string,
    validTo = new Date(Date.now() + day),
  ): Promise<IssuedCertificate> {
    const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: authority.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      notBefore: new Date(Math.min(Date.now(), validTo.getTime()) - day),
      notAfter: validTo,
      signingAlgorithm: algorithm,
      extensions: [
        new SubjectAlternativeNameExtension([
          { type: 'url', value: uri },
          { type: 'dns', value: 'localhost' },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    });
    const files = { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key.pem`) };
    const cert = certificate.toString('pem');
    const key = await pemOf(own.privateKey);
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key, { mode: 0o600 });
    return { cert, key, ...files };
  }
  return { ca, caFile, issue };
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}
