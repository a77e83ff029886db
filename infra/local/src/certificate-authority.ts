import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import type { webcrypto } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { ServiceRole } from '@lemniscate/shared/protocol/identity.ts';

/** PEM files of one certificate. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** The private certificate authority of one local fleet. */
export interface CertificateAuthority extends CertificateFiles {
  /**
   * The certificate of a service: kept from the last time, issued anew when it is missing, near its end, damaged,
   * or of another authority. It names role and server by URI and is good for 127.0.0.1 and localhost, both ways.
   */
  certificateFor(role: ServiceRole, name: string): Promise<CertificateFiles>;
}

const day = 24 * 60 * 60 * 1000;
const authorityDays = 3650;
const leafDays = 30;
/** A certificate with less than this left is issued anew. */
const renewBeforeDays = 10;

/** Opens the authority in a folder, making it at the first time; a new authority drops every certificate of the old. */
export async function openCertificateAuthority(
  folder: string,
  now: () => Date = () => new Date(),
): Promise<CertificateAuthority> {
  const authority = { certificate: join(folder, 'ca.pem'), key: join(folder, 'ca-key.pem') };
  if (!isUsable(authority, now())) await writeAuthority(authority, now());
  const certificateFor = async (role: ServiceRole, name: string) => {
    const files = {
      certificate: join(folder, `${role}-${name}.pem`),
      key: join(folder, `${role}-${name}-key.pem`),
    };
    if (!isUsable(files, now(), authority.certificate)) await writeLeaf(authority, files, role, name, now());
    return files;
  };
  return { ...authority, certificateFor };
}

function isUsable(files: CertificateFiles, now: Date, issuerFile = files.certificate): boolean {
  if (!existsSync(files.certificate) || !existsSync(files.key)) return false;
  try {
    const certificate = new X509Certificate(readFileSync(files.certificate));
    const issuer = new X509Certificate(readFileSync(issuerFile));
    return (
      certificate.validToDate.getTime() - now.getTime() > renewBeforeDays * day &&
      certificate.checkPrivateKey(createPrivateKey(readFileSync(files.key))) &&
      certificate.verify(issuer.publicKey)
    );
  } catch (error) {
    // cut short by a kill or a full disk: OpenSSL cannot read it, so it is made anew
    if ((error as NodeJS.ErrnoException).code?.startsWith('ERR_OSSL') === true) return false;
    throw error;
  }
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

// @peculiar/x509 takes 100 ms to load, and most starts issue nothing
const loadX509 = async () => {
  await import('reflect-metadata'); // tsyringe inside x509 refuses to load without
  return import('@peculiar/x509');
};

async function writeAuthority(files: CertificateFiles, now: Date): Promise<void> {
  const x509 = await loadX509();
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Lemniscate local fleet',
    keys,
    ...validity(now, authorityDays),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await writeFiles(files, certificate.toString('pem'), keys.privateKey);
}

async function writeLeaf(
  authority: CertificateFiles,
  files: CertificateFiles,
  role: ServiceRole,
  name: string,
  now: Date,
): Promise<void> {
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(readFileSync(authority.certificate, 'utf8'));
  const signingKey = await importSigningKey(authority.key);
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    ...validity(now, leafDays),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'url', value: serviceUri(role, name) },
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(await importIssuerKey(authority)),
    ],
  });
  await writeFiles(files, certificate.toString('pem'), keys.privateKey);
}

function importIssuerKey(authority: CertificateFiles): Promise<webcrypto.CryptoKey> {
  const spki = createPublicKey(readFileSync(authority.key)).export({ type: 'spki', format: 'der' });
  return crypto.subtle.importKey('spki', spki, algorithm, true, ['verify']);
}

function importSigningKey(file: string): Promise<webcrypto.CryptoKey> {
  const pkcs8 = createPrivateKey(readFileSync(file)).export({ type: 'pkcs8', format: 'der' });
  return crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
}

/** Begins an hour early, for clocks that are behind. */
function validity(now: Date, days: number): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: new Date(now.getTime() - 60 * 60 * 1000),
    notAfter: new Date(now.getTime() + days * day),
  };
}

/** The key first, each by rename: a kill in between leaves a pair that `isUsable` refuses, never half a file. */
async function writeFiles(
  files: CertificateFiles,
  certificate: string,
  key: webcrypto.CryptoKey,
): Promise<void> {
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  const keyPem = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({
    type: 'pkcs8',
    format: 'pem',
  });
  writeByRename(files.key, keyPem.toString());
  writeByRename(files.certificate, `${certificate}\n`);
}

function writeByRename(file: string, text: string): void {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
  renameSync(`${file}.new`, file);
}
