import { createHash, timingSafeEqual } from 'node:crypto';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { GatewayRules } from '@lemniscate/shared/model/gateway-rules.ts';
import type { ProviderTool } from '@lemniscate/shared/model/provider-tools.ts';
import { staleAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A model exchange whose caller is known: the server by its certificate, the attempt by its relay token. */
export interface AuthorisedCaller {
  readonly claim: AttemptClaim;
  /** The session's project, which may have prices of its own. */
  readonly project: string;
  /** The session's model. */
  readonly model: string;
  /** What the session's policy, frozen at its start, says to the gateway. */
  readonly rules: GatewayRules;
  /** Families of provider-run tools that the policy names. */
  readonly providerTools: readonly ProviderTool[];
}

/** The models that the token is good for: the session's own and the small ones that its policy names. */
export function modelsOf(caller: AuthorisedCaller): string[] {
  return [...new Set([caller.model, ...(caller.rules.smallModels ?? [])])];
}

interface TokenRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly attempt: number;
  readonly project_id: string;
  readonly relay_token_hash: string;
  readonly live: boolean;
  readonly model: string;
  readonly rules: GatewayRules | null;
  readonly provider_tools: readonly ProviderTool[] | null;
}

/**
 * Finds the attempt that a relay token belongs to. It must be on the server that the certificate names, so a token that
 * leaked is worth nothing elsewhere. The index finds by hash; what it found is compared in constant time all the same.
 * @throws CodedError `unauthenticated`; `attempt_stale` when the token was good once
 */
export async function authoriseExchange(
  database: Transaction,
  serverId: string,
  token: string,
): Promise<AuthorisedCaller> {
  const hash = createHash('sha256').update(token).digest();
  const rows = await database.query<TokenRow>(
    `SELECT a.session_id, a.attempt, a.relay_token_hash, s.project_id, s.model,
       s.policy -> 'gateway' AS rules, s.policy -> 'providerTools' AS provider_tools,
       a.state = 'live' AND s.attempt = a.attempt AND s.state IN ('starting', 'running') AS live
     FROM attempts a JOIN sessions s ON s.id = a.session_id
     WHERE a.relay_token_hash = $1 AND a.server_id = $2`,
    [hash.toString('hex'), serverId],
  );
  const row = rows.find((candidate) => isEqual(candidate.relay_token_hash, hash));
  if (row === undefined)
    throw new CodedError('unauthenticated', 'The relay token is not one of an attempt on this server.');
  const claim = { sessionId: row.session_id, attempt: row.attempt, serverId };
  if (!row.live) throw staleAttempt(claim);
  return {
    claim,
    project: row.project_id,
    model: row.model,
    rules: row.rules ?? {},
    providerTools: row.provider_tools ?? [],
  };
}

function isEqual(storedHex: string, hash: Buffer): boolean {
  const stored = Buffer.from(storedHex, 'hex');
  return stored.byteLength === hash.byteLength && timingSafeEqual(stored, hash);
}
