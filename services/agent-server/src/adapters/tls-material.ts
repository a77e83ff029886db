import { X509Certificate, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { pemCertificates } from '@lemniscate/shared/text/pem.ts';
import { serviceUris } from '../domain/peer-role.ts';
import { invalidFile } from './invalid-file.ts';

/** Certificate, key and authority of this server, checked, and the name that its certificate gives it. */
export interface TlsMaterial {
  /** The authorities that are believed: one, or two while one takes over from the other. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The server's id. */
  readonly name: string;
  readonly expiresAt: Date;
}

/**
 * Reads and checks the three files at start, so that a wrong one is named here and not as a failed handshake later.
 * @throws CodedError `configuration_invalid`, `certificate_expired`, `key_mismatch`, `certificate_refused`
 */
export function readTlsMaterial(
  files: { readonly ca: string; readonly cert: string; readonly key: string },
  now: Date,
): TlsMaterial {
  const ca = readPem('LEMNISCATE_TLS_CA', files.ca);
  const cert = readPem('LEMNISCATE_TLS_CERT', files.cert);
  const key = readPem('LEMNISCATE_TLS_KEY', files.key);
  const authorities = readAuthorities(files.ca, ca);
  const certificate = parseCertificate('LEMNISCATE_TLS_CERT', files.cert, cert);
  checkDates('LEMNISCATE_TLS_CERT', files.cert, certificate, now);
  if (!certificate.checkPrivateKey(parseKey(files.key, key))) {
    throw new CodedError(
      'key_mismatch',
      `The key ${files.key} (LEMNISCATE_TLS_KEY) does not belong to the certificate ${files.cert} (LEMNISCATE_TLS_CERT). Give the pair that was issued together.`,
    );
  }
  const authority = authorities.find(({ publicKey }) => certificate.verify(publicKey));
  if (authority === undefined) {
    throw new CodedError(
      'certificate_refused',
      `The certificate ${files.cert} was not signed by the authority ${files.ca} (LEMNISCATE_TLS_CA). Have it issued by the fleet's authority.`,
    );
  }
  checkDates('LEMNISCATE_TLS_CA', files.ca, authority, now);
  const identity = serviceUris(certificate).find(({ role }) => role === 'agent-server');
  if (identity === undefined) {
    throw new CodedError(
      'certificate_refused',
      `The certificate ${files.cert} names no agent server: its URI must be spiffe://lemniscate/agent-server/NAME.`,
    );
  }
  return { ca, cert, key, name: identity.name, expiresAt: certificate.validToDate };
}

function readPem(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidFile(
      variable,
      file,
      `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
      error,
    );
  }
}

/** OpenSSL takes the first authority of a name and looks no further: two under one name would refuse half the fleet. */
function readAuthorities(file: string, pem: string): readonly X509Certificate[] {
  const authorities = pemCertificates(pem).map((each) => parseCertificate('LEMNISCATE_TLS_CA', file, each));
  if (authorities.length === 0) throw invalidFile('LEMNISCATE_TLS_CA', file, 'holds no PEM certificate');
  const names = authorities.map(({ subject }) => subject);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return authorities;
  throw invalidFile(
    'LEMNISCATE_TLS_CA',
    file,
    `holds two authorities named ${twice}; give the new one a name of its own`,
  );
}

function parseCertificate(variable: string, file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw invalidFile(variable, file, 'holds no PEM certificate', error);
  }
}

function parseKey(file: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw invalidFile('LEMNISCATE_TLS_KEY', file, 'holds no PEM private key', error);
  }
}

function checkDates(variable: string, file: string, certificate: X509Certificate, now: Date): void {
  if (now > certificate.validToDate) {
    throw new CodedError(
      'certificate_expired',
      `The certificate ${file} (${variable}) expired at ${certificate.validToDate.toISOString()}. Issue a new one.`,
    );
  }
  if (now < certificate.validFromDate) {
    throw invalidFile(
      variable,
      file,
      `is valid only from ${certificate.validFromDate.toISOString()}; check the clock`,
    );
  }
}
