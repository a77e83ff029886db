import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A key and a self-signed certificate for loopback, in a folder. */
export function makeCertificate(folder: string): { readonly key: string; readonly certificate: string } {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = spawnSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
      .concat(['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'])
      .concat(['-keyout', key, '-out', certificate]),
    { encoding: 'utf8', timeout: 20_000 },
  );
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.stderr}`);
  return { key, certificate };
}
