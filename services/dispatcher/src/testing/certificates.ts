import { createPrivateKey } from 'node:crypto';
import type { webcrypto } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const day = 86_400_000;

/** Paths of a certificate and its key. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  readonly ca: string;
  readonly caKey: string;
  /** @param validForMs from an hour ago on; negative: expired */
  issue(uri: string, validForMs?: number): Promise<TestCertificate>;
  remove(): Promise<void>;
}

/** A private authority in a folder of its own. */
export async function createTestAuthority(name = 'test authority'): Promise<TestAuthority> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-ca-'));
  const keys = await newKeys();
  const notBefore = new Date(Date.now() - day);
  const authority = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore,
    notAfter: new Date(Date.now() + day),
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true)],
  });
  const ca = join(folder, 'ca.pem');
  const caKey = join(folder, 'ca-key.pem');
  await writeFile(ca, authority.toString('pem'));
  await writeFile(caKey, await keyPem(keys.privateKey));
  let issued = 0;
  return {
    ca,
    caKey,
    issue: async (uri, validForMs = day) => {
      issued += 1;
      const leafKeys = await newKeys();
      const leaf = await X509CertificateGenerator.create({
        subject: `CN=leaf ${issued}`,
        issuer: authority.subject,
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        notBefore,
        notAfter: new Date(Date.now() + validForMs),
        signingAlgorithm: algorithm,
        extensions: [
          new SubjectAlternativeNameExtension([
            { type: 'url', value: uri },
            { type: 'dns', value: 'localhost' },
            { type: 'ip', value: '127.0.0.1' },
          ]),
        ],
      });
      const files = { cert: join(folder, `leaf-${issued}.pem`), key: join(folder, `leaf-${issued}-key.pem`) };
      await writeFile(files.cert, leaf.toString('pem'));
      await writeFile(files.key, await keyPem(leafKeys.privateKey));
      return files;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function newKeys() {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString();
}
