import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import type { KeyObject, webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { pemCertificates } from '@lemniscate/shared/text/pem.ts';
import type { IssueCertificate } from '../application/ports/certificate-issuer.ts';

/** The one kind of key that the fleet uses. */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

// @peculiar/x509 takes 100 ms to load, and most dispatchers never sign anything.
const loadX509 = async () => {
  await import('reflect-metadata'); // tsyringe inside x509 refuses to load without
  return import('@peculiar/x509');
};

/**
 * Signs certificates of joining workstations with the authority, among those that the fleet believes, that the key is of.
 * @throws CodedError `configuration_invalid` for an unreadable key, `key_mismatch` for one of another authority
 */
export function createCertificateIssuer(caPem: string, keyFile: string, clock: Clock): IssueCertificate {
  const { key, authorityPem } = readSigningKey(caPem, keyFile);
  return async ({ serverId, publicKeyPem, validForMs }) => {
    const publicKey = await importPublicKey(publicKeyPem);
    const x509 = await loadX509();
    const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
    const now = clock.now().getTime();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `CN=${serverId}`,
      issuer: new x509.X509Certificate(authorityPem).subject,
      publicKey,
      signingKey: await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
      signingAlgorithm: algorithm,
      // A minute early, for clocks that are behind.
      notBefore: new Date(now - 60_000),
      notAfter: new Date(now + validForMs),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        // Servers are known by their URI; the addresses are for clients that look at host names as well.
        new x509.SubjectAlternativeNameExtension([
          { type: 'url', value: serviceUri('agent-server', serverId) },
          { type: 'dns', value: 'localhost' },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    });
    return certificate.toString('pem');
  };
}

/** The key, and which of the authorities it is the key of. */
function readSigningKey(caPem: string, file: string): { key: KeyObject; authorityPem: string } {
  let key: KeyObject;
  try {
    key = createPrivateKey(readFileSync(file));
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_CA_KEY: ${file} cannot be read as a private key in PEM. Unset it if workstations need not join.`,
      { file },
      error,
    );
  }
  const authorityPem = pemCertificates(caPem).find((pem) => new X509Certificate(pem).checkPrivateKey(key));
  if (authorityPem !== undefined) return { key, authorityPem };
  throw new CodedError(
    'key_mismatch',
    `The key in ${file} (LEMNISCATE_CA_KEY) does not belong to the authority in LEMNISCATE_TLS_CA.`,
    { file },
  );
}

async function importPublicKey(pem: string): Promise<webcrypto.CryptoKey> {
  try {
    const spki = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    return await crypto.subtle.importKey('spki', spki, algorithm, true, ['verify']);
  } catch (error) {
    throw new CodedError(
      'request_invalid',
      'publicKeyPem must be the PEM of a public key on the curve P-256.',
      {},
      error,
    );
  }
}
