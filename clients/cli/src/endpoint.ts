import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';

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
  const folder = dataFolder(env);
  const local = env.LEMNISCATE_URL ? null : await readJson(join(folder, 'api.json'), apiFileSchema);
  const url = env.LEMNISCATE_URL || local?.apiUrl;
  if (url === undefined) return null;
  if (!URL.canParse(url))
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_URL is not a URL: ${url}. Unset it or mend it.`,
    );
  if (env.LEMNISCATE_TOKEN) return { url, token: env.LEMNISCATE_TOKEN };
  const login = await readJson(local?.tokenFile ?? join(folder, 'login.json'), loginFileSchema);
  if (login === null)
    throw new CodedError('unauthenticated', `There is no login for ${url}. Set LEMNISCATE_TOKEN.`);
  return { url, token: login.token };
}
