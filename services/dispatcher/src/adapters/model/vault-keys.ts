import { request } from 'undici';
import { z } from 'zod';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readAtMost } from '@lemniscate/shared/read-at-most.ts';

/** Where a Vault is and what it knows the dispatcher by. */
export interface VaultAccess {
  readonly address: string;
  readonly token: Secret;
}

/** A field of a secret, such as `secret/data/models` and `anthropic`. */
export type ReadVault = (path: string, field: string) => Promise<string>;

const timeoutMs = 10_000;
const longestAnswer = 256 * 1024;
/** The second version of its key-value store wraps what was written once more. */
const answerSchema = z.object({ data: z.record(z.string(), z.unknown()) });

/** Reads keys out of HashiCorp Vault (https://developer.hashicorp.com/vault/api-docs/secret/kv), at the start only. */
export function createVaultReader({ address, token }: VaultAccess): ReadVault {
  return async (path, field) => {
    const where = `${address.replace(/\/+$/, '')}/v1/${path}`;
    const answer = await request(where, {
      headers: { 'x-vault-token': token.reveal(), 'x-vault-request': 'true' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.statusCode !== 200) {
      await answer.body.dump({ limit: longestAnswer });
      throw refused(path, `it answered ${answer.statusCode}. Check VAULT_ADDR, VAULT_TOKEN and its policy`);
    }
    const read = answerSchema.safeParse(await readJson(answer.body, path));
    const { data = {} } = read.data ?? {};
    const inner = z.record(z.string(), z.unknown()).safeParse(data['data']);
    const value = (inner.data ?? data)[field];
    if (typeof value === 'string') return value;
    throw refused(path, `the secret has no text called ${field}`);
  };
}

/** @throws CodedError `configuration_invalid` where it is none, or longer than a secret is */
async function readJson(body: AsyncIterable<Uint8Array>, path: string): Promise<unknown> {
  try {
    return JSON.parse(await readAtMost(body, longestAnswer));
  } catch (error) {
    // What it answered is not shown: it may be a key. The words of a parser quote it.
    const why = error instanceof SyntaxError ? 'is not JSON' : 'could not be read whole';
    throw refused(path, `its answer ${why}, of ${longestAnswer} bytes at most. Check VAULT_ADDR`);
  }
}

function refused(path: string, why: string): CodedError {
  return new CodedError('configuration_invalid', `Vault does not give ${path}: ${why}.`, { path });
}
