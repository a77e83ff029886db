import { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ServiceRole } from '@lemniscate/shared/protocol/identity.ts';
import { serviceUris } from '../domain/peer-role.ts';

/** A hook that lets through only peers whose certificate names one of the roles. @throws CodedError `certificate_refused` */
export function requireRole(roles: readonly ServiceRole[]) {
  return async (request: FastifyRequest): Promise<void> => {
    const found = rolesOf(request.raw.socket);
    if (found.some((role) => roles.includes(role))) return;
    const shown = found.length === 0 ? 'no service of this fleet' : `the role ${found.join(', ')}`;
    throw new CodedError(
      'certificate_refused',
      `The client's certificate names ${shown}; this address is for ${roles.join(', ')}.`,
    );
  };
}

// A certificate does not change within a connection, and parsing it takes longer than a small request.
const known = new WeakMap<object, readonly ServiceRole[]>();

function rolesOf(socket: object): readonly ServiceRole[] {
  const before = known.get(socket);
  if (before !== undefined) return before;
  const roles = readRoles(socket);
  known.set(socket, roles);
  return roles;
}

function readRoles(socket: object): readonly ServiceRole[] {
  // The handshake has verified the chain already; without that the certificate is only a claim.
  if (!(socket instanceof TLSSocket) || !socket.authorized) return [];
  const raw = socket.getPeerCertificate().raw;
  return raw === undefined ? [] : serviceUris(new X509Certificate(raw)).map(({ role }) => role);
}
