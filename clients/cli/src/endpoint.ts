import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import { currentFleet, readStoredLogin } from './stored-logins.ts';

/** Where the API is and who we are there. */
export interface Endpoint {
  readonly url: string;
  readonly token: string;
}

const apiFileSchema = z.object({ apiUrl: z.string(), tokenFile: z.string() });
const loginFileSchema = z.object({ token: z.string().min(1) });

/** The data folder of the fleet that belongs to this installation. */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env.LEMNISCATE_DATA || join(fileURLToPath(new URL('../../../', import.meta.url)), '.lemniscate');
}

async function readJson<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
): Promise<z.infer<Schema> | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CodedError('configuration_invalid', `${file} cannot be read: ${error.code ?? error.message}.`);
  });
  if (text === null) return null;
  const parsed = schema.safeParse(parseJson(text, file));
  if (!parsed.success)
    throw new CodedError(
      'configuration_invalid',
      `${file} is not what the local fleet writes. Start it again.`,
    );
  return parsed.data;
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CodedError(
      'configuration_invalid',
      `${file} is not JSON. Start the local fleet again.`,
      {},
      error,
    );
  }
}

/**
 * Finds the fleet: `LEMNISCATE_URL` and `LEMNISCATE_TOKEN`, else the files that a running local fleet leaves in its
 * data folder. Null when neither is there.
 * @throws CodedError `configuration_invalid`, `unauthenticated`
 */
export async function findEndpoint(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Endpoint | null> {
  const found = await findUrl(env);
  if (found === null) return null;
  const { url } = found;
  if (env.LEMNISCATE_TOKEN) return { url, token: env.LEMNISCATE_TOKEN };
  const stored = await readStoredLogin(env, url);
  if (stored !== null) return { url, token: stored.token };
  const file = found.tokenFile ?? join(dataFolder(env), 'login.json');
  const login = await readJson(file, loginFileSchema);
  if (login === null)
    throw new CodedError(
      'unauthenticated',
      `There is no login for ${url}. Run "lemniscate login", or set LEMNISCATE_TOKEN.`,
    );
  return { url, token: login.token };
}

/**
 * Where the fleet is: `LEMNISCATE_URL`, else the local fleet that runs, else the one of the last login.
 * @throws CodedError `configuration_invalid`
 */
export async function findUrl(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly url: string; readonly tokenFile?: string } | null> {
  const local = env.LEMNISCATE_URL ? null : await readJson(join(dataFolder(env), 'api.json'), apiFileSchema);
  const url = env.LEMNISCATE_URL || local?.apiUrl || (await currentFleet(env));
  if (url === undefined) return null;
  if (!URL.canParse(url))
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_URL is not a URL: ${url}. Unset it or mend it.`,
    );
  return local === null ? { url } : { url, tokenFile: local.tokenFile };
}
