import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { roles } from '@lemniscate/shared/identity/roles.ts';
import type { Authenticator, Person } from '../application/identity.ts';

const loginSchema = z.object({
  token: z.string().min(20),
  subject: z.string().min(1),
  name: z.string(),
  expiresAt: z.iso.datetime({ offset: true }),
  /** Whoever starts a fleet on their own machine is everything there. */
  roles: z.array(z.enum(roles)).default([...roles]),
});
type Login = z.infer<typeof loginSchema>;

/** The local login, which also says who its one person is while the fleet is theirs. */
export interface LocalLogin extends Authenticator {
  readonly find: (subject: string) => Promise<Person | null>;
}

/** How long a read of the file serves, so that a stream of requests is not a stream of `stat`s. */
const freshMs = 1_000;

/**
 * The login that a local fleet issues to the person at this machine: one file, short-lived, loopback only. The fleet
 * renews it by writing the file anew, so it is looked at again when it changes.
 * @throws CodedError `configuration_invalid` when the file cannot be read at start
 */
export async function createLocalLogin(file: string, clock: Clock): Promise<LocalLogin> {
  let login = await readLogin(file);
  let readAt = clock.monotonicMs();
  let stamp = await fileStamp(file);

  const refresh = async (): Promise<void> => {
    if (clock.monotonicMs() - readAt < freshMs) return;
    readAt = clock.monotonicMs();
    const found = await fileStamp(file);
    if (found === stamp) return;
    login = await readLogin(file);
    stamp = found;
  };
  const person = (): Person => ({
    subject: login.subject,
    name: login.name,
    kind: 'human',
    roles: login.roles,
  });
  return {
    find: async (subject) => {
      await refresh();
      return subject === login.subject ? person() : null;
    },
    authenticate: async (token): Promise<Person> => {
      if (token === null)
        throw new CodedError(
          'unauthenticated',
          'No login was sent. Send it as "Authorization: Bearer TOKEN".',
        );
      await refresh();
      if (!sameText(token, login.token))
        throw new CodedError(
          'unauthenticated',
          'The login is not known here. Use the token of the local login file.',
        );
      if (Date.parse(login.expiresAt) <= clock.now().getTime())
        throw new CodedError(
          'unauthenticated',
          `The local login expired at ${login.expiresAt}. Start the local fleet again to get a new one.`,
        );
      return person();
    },
  };
}

async function fileStamp(file: string): Promise<string> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(unreadable(file, error)));
  return `${found.mtimeMs}:${found.size}:${found.ino}`;
}

async function readLogin(file: string): Promise<Login> {
  try {
    return loginSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): CodedError {
  return new CodedError(
    'configuration_invalid',
    `LEMNISCATE_LOCAL_LOGIN: ${file} cannot be read as a login. Start the local fleet again; it writes the file.`,
    { file },
    cause,
  );
}

// Digests first: timingSafeEqual wants equal lengths, and the length of a token is nobody's business either.
function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
