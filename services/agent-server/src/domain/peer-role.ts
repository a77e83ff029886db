import type { X509Certificate } from 'node:crypto';
import { parseServiceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { ServiceRole } from '@lemniscate/shared/protocol/identity.ts';

/** The services that a certificate names. Only the URI counts: host names and the subject say nothing about a role. */
export function serviceUris(
  certificate: Pick<X509Certificate, 'subjectAltName'>,
): { readonly role: ServiceRole; readonly name: string }[] {
  return (certificate.subjectAltName ?? '').split(', ').flatMap((name) => {
    const parsed = name.startsWith('URI:') ? parseServiceUri(name.slice('URI:'.length)) : null;
    return parsed === null ? [] : [parsed];
  });
}
