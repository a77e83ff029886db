import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { parseServiceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { ServiceRole } from '@lemniscate/shared/protocol/identity.ts';
import { pemCertificates } from '@lemniscate/shared/text/pem.ts';

/** Files of a service's identity. */
export interface CertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A service's identity for mutual TLS, as PEM, and its name. */
export interface ServiceCertificate {
  /** The authorities that are believed: one, or two while one takes over from the other. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** URI in the certificate. */
  readonly uri: string;
  readonly expiresAt: Date;
}

/**
 * Reads and checks what a service shows to the others, so that a fault is told at start and not by a failed handshake.
 * @throws CodedError `configuration_invalid`, `certificate_expired`, `key_mismatch`, each naming file and variable
 */
export function readServiceCertificate(
  files: CertificateFiles,
  role: ServiceRole,
  clock: Clock,
): ServiceCertificate {
  const ca = readPem('LEMNISCATE_TLS_CA', files.ca);
  const cert = readPem('LEMNISCATE_TLS_CERT', files.cert);
  const key = readPem('LEMNISCATE_TLS_KEY', files.key);
  const authorities = readAuthorities(files.ca, ca);
  const leaf = parseCertificate('LEMNISCATE_TLS_CERT', files.cert, cert);
  checkDates(files.cert, leaf, clock);
  checkKey(files, leaf, key);
  const authority = authorities.find((each) => leaf.checkIssued(each) && leaf.verify(each.publicKey));
  if (authority === undefined)
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_TLS_CERT: ${files.cert} was not issued by the authority in ${files.ca} (LEMNISCATE_TLS_CA).`,
      { file: files.cert },
    );
  checkDates(files.ca, authority, clock);
  return { ca, cert, key, uri: serviceUriOf(files.cert, leaf, role), expiresAt: new Date(leaf.validTo) };
}

function readPem(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `${variable}: the file ${file} cannot be read. Set ${variable} to a PEM file that this user may read.`,
      { variable, file },
      error,
    );
  }
}

/** OpenSSL takes the first authority of a name and looks no further: two under one name would refuse half the fleet. */
function readAuthorities(file: string, pem: string): readonly X509Certificate[] {
  const authorities = pemCertificates(pem).map((each) => parseCertificate('LEMNISCATE_TLS_CA', file, each));
  if (authorities.length === 0) parseCertificate('LEMNISCATE_TLS_CA', file, pem);
  const names = authorities.map(({ subject }) => subject);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return authorities;
  throw new CodedError(
    'configuration_invalid',
    `LEMNISCATE_TLS_CA: ${file} holds two authorities named ${twice}. Give the new one a name of its own.`,
    { file },
  );
}

function parseCertificate(variable: string, file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `${variable}: ${file} holds no certificate in PEM.`,
      { variable, file },
      error,
    );
  }
}

function checkDates(file: string, certificate: X509Certificate, clock: Clock): void {
  const now = clock.now().getTime();
  if (now >= Date.parse(certificate.validTo))
    throw new CodedError(
      'certificate_expired',
      `The certificate in ${file} expired on ${new Date(certificate.validTo).toISOString()}. Issue a new one from the fleet's authority (a local fleet does so when it starts) and start again.`,
      { file, validTo: certificate.validTo },
    );
  if (now < Date.parse(certificate.validFrom))
    throw new CodedError(
      'configuration_invalid',
      `The certificate in ${file} is valid only from ${new Date(certificate.validFrom).toISOString()}. Check this machine's clock.`,
      { file, validFrom: certificate.validFrom },
    );
}

function checkKey(files: CertificateFiles, leaf: X509Certificate, pem: string): void {
  let fits: boolean;
  try {
    fits = leaf.checkPrivateKey(createPrivateKey(pem));
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_TLS_KEY: ${files.key} holds no private key in PEM.`,
      { file: files.key },
      error,
    );
  }
  if (fits) return;
  throw new CodedError(
    'key_mismatch',
    `The key in ${files.key} (LEMNISCATE_TLS_KEY) does not belong to the certificate in ${files.cert} (LEMNISCATE_TLS_CERT). Point both at one pair.`,
    { key: files.key, certificate: files.cert },
  );
}

function serviceUriOf(file: string, leaf: X509Certificate, role: ServiceRole): string {
  const uris = (leaf.subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('URI:'))
    .map((name) => name.slice('URI:'.length));
  const [uri] = uris;
  if (uris.length === 1 && uri !== undefined && parseServiceUri(uri)?.role === role) return uri;
  throw new CodedError(
    'configuration_invalid',
    `The certificate in ${file} does not name a ${role} as its one URI (it has ${uris.length === 0 ? 'none' : uris.join(', ')}).`,
    { file, role },
  );
}
