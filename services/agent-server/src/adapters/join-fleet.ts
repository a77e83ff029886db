import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'undici';
import { joinedServerSchema } from '@lemniscate/shared/api/server.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { fromProblem } from '@lemniscate/shared/errors/problem.ts';
import { readAtMost } from '@lemniscate/shared/read-at-most.ts';
import type { Log } from '../application/ports/log.ts';

/** How a server that has no certificate yet becomes one of the fleet's. */
export interface JoinPlan {
  /** The fleet's public API. */
  readonly url: string;
  /** From `lemniscate servers invite`: for one use and one key. */
  readonly token: Secret | undefined;
  /** `https://HOST:PORT` where dispatchers reach this server. */
  readonly address: string;
  readonly capacity: number;
}

const answerMs = 15_000;
/** Two certificates and a name. */
const maxAnswerBytes = 256 * 1024;

/**
 * Joins at the first start: makes a key of its own that never leaves the machine, hands the token in for it, and writes
 * certificate and authority where the configuration looks for them. With a certificate there is nothing to do.
 * @throws CodedError `configuration_invalid` without a token, naming the public key to invite; the fleet's refusal
 */
export async function joinFleet(
  plan: JoinPlan,
  files: { readonly ca: string; readonly cert: string; readonly key: string },
  log: Log,
): Promise<void> {
  if (existsSync(files.cert)) return;
  const publicKeyPem = ownKey(files.key);
  if (plan.token === undefined)
    throw new CodedError(
      'configuration_invalid',
      `This server has no certificate yet. Have an operator run: lemniscate servers invite --key ${files.key}.pub --capacity ${plan.capacity}; then set LEMNISCATE_JOIN_TOKEN and start again.`,
      { publicKey: `${files.key}.pub` },
    );
  const { serverId, certificatePem, caPem } = await handIn(plan, plan.token, publicKeyPem);
  // The certificate last: it is what says that this server has joined.
  writeWhole(files.ca, caPem);
  writeWhole(files.cert, certificatePem);
  log.info({ server: serverId }, 'joined the fleet');
}

async function handIn(plan: JoinPlan, token: Secret, publicKeyPem: string) {
  const place = new URL('/v1/server-invitations/use', plan.url);
  const answer = await request(place, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      token: token.reveal(),
      publicKeyPem,
      url: plan.address,
      capacity: plan.capacity,
    }),
    signal: AbortSignal.timeout(answerMs),
  }).catch((error: unknown) => {
    throw new CodedError(
      'service_unreachable',
      `The fleet at ${place.origin} gave no answer. Check LEMNISCATE_JOIN_URL.`,
      {},
      error,
    );
  });
  const body = await readJson(answer.body);
  if (answer.statusCode !== 201) throw fromProblem(body, answer.statusCode);
  return joinedServerSchema.parse(body);
}

/** What is no JSON, such as a proxy's page, or never ends is as good as no answer: the status then decides. */
async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  try {
    return JSON.parse(await readAtMost(body, maxAnswerBytes));
  } catch {
    return undefined;
  }
}

/** The public half of the key in the file, which is made where there is none; it also lies beside as `.pub`. */
function ownKey(file: string): string {
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  }
  const pem = createPublicKey(readFileSync(file)).export({ type: 'spki', format: 'pem' }).toString();
  writeFileSync(`${file}.pub`, pem);
  return pem;
}

/** A file that is half-written must not be taken for a certificate. */
function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
