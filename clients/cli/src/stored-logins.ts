import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

const storedLoginSchema = z.object({
  token: z.string().min(1),
  expiresAt: z.string(),
  subject: z.string(),
  name: z.string(),
});
export type StoredLogin = z.infer<typeof storedLoginSchema>;

const storeSchema = z.object({
  /** Origin of the fleet that was logged in to last. */
  current: z.string().optional(),
  logins: z.record(z.string(), storedLoginSchema).default({}),
});
type Store = z.infer<typeof storeSchema>;

function storeFile(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'lemniscate', 'logins.json');
}

async function readStore(env: Environment): Promise<Store> {
  const file = storeFile(env);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw new CodedError('configuration_invalid', `${file} cannot be read: ${error.code ?? error.message}.`);
  });
  try {
    return storeSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `${file} is not what "lemniscate login" writes. Remove it and log in again.`,
      {},
      error,
    );
  }
}

/** Replaced as a whole: a reader sees the old logins or the new ones, and nobody else sees any. */
async function writeStore(env: Environment, store: Store): Promise<void> {
  const file = storeFile(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(store, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, file);
}

const originOf = (url: string): string => new URL(url).origin;

/** The login that is kept for a fleet; null where there is none. */
export async function readStoredLogin(env: Environment, url: string): Promise<StoredLogin | null> {
  return (await readStore(env)).logins[originOf(url)] ?? null;
}

/** The fleet that was logged in to last. */
export async function currentFleet(env: Environment): Promise<string | undefined> {
  return (await readStore(env)).current;
}

/** Keeps a login for later commands. */
export async function storeLogin(env: Environment, url: string, login: StoredLogin): Promise<void> {
  const store = await readStore(env);
  const origin = originOf(url);
  await writeStore(env, { current: origin, logins: { ...store.logins, [origin]: login } });
}

/** Forgets the login of a fleet. */
export async function forgetLogin(env: Environment, url: string): Promise<void> {
  const { current, logins } = await readStore(env);
  const origin = originOf(url);
  const { [origin]: _, ...others } = logins;
  await writeStore(env, {
    ...(current === undefined || current === origin ? {} : { current }),
    logins: others,
  });
}
