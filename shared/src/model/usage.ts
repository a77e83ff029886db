/**
 * Tokens in four disjoint buckets. `inputTokens` is what no cache served or took; `cacheWriteTokens` counts every
 * lifetime, and `cacheWrite1hTokens` is the part of it that lives an hour. Reasoning is inside `outputTokens`.
 */
export interface TokenBuckets {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly cacheWrite1hTokens: number;
}

export const noTokens: TokenBuckets = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};

/** Under which conditions the provider served; the served ones set the price, never the requested ones. */
export interface ServedTier {
  /** `service_tier` of the answer (`standard`, `default`, `flex`, `priority`, `batch`, …); null where it is silent. */
  readonly serviceTier: string | null;
  /** `speed` of the answer (`fast`, `standard`). */
  readonly speed: string | null;
  /** `inference_geo` of the answer (`us`, `global`, …). */
  readonly region: string | null;
}

/** One sampling inside a response. Most responses have one; compaction and advisors add more. */
export interface UsagePart {
  /** The model that sampled, where it is not the response's own. */
  readonly model: string | null;
  readonly tokens: TokenBuckets;
}

/** Usage of one response of a provider. */
export interface ResponseUsage {
  /** The provider's id, by which repeats are known; null where it never told one. */
  readonly responseId: string | null;
  /** The model that served, as the provider names it; null where the answer broke before that. */
  readonly servedModel: string | null;
  readonly tier: ServedTier;
  readonly parts: readonly UsagePart[];
  /** Searches of the web that the provider ran and bills by number. */
  readonly webSearches: number;
  /** Searches of stored files that the provider ran and bills by number; absent: none. */
  readonly fileSearches?: number;
  /** The provider ran what it bills otherwise (containers, images, sources), which no book prices. */
  readonly otherFees?: boolean;
  /** False: the answer was cut, so every number is a lower bound. */
  readonly complete: boolean;
}

/** Sums buckets. A sum that is no safe integer is not exact: see `isWhole`. */
export function addTokens(...buckets: readonly TokenBuckets[]): TokenBuckets {
  return buckets.reduce(
    (sum, one) => ({
      inputTokens: sum.inputTokens + one.inputTokens,
      outputTokens: sum.outputTokens + one.outputTokens,
      cacheReadTokens: sum.cacheReadTokens + one.cacheReadTokens,
      cacheWriteTokens: sum.cacheWriteTokens + one.cacheWriteTokens,
      cacheWrite1hTokens: sum.cacheWrite1hTokens + one.cacheWrite1hTokens,
    }),
    noTokens,
  );
}

/** Tokens of a whole response. */
export function tokensOf(response: ResponseUsage): TokenBuckets {
  return addTokens(...response.parts.map((part) => part.tokens));
}

/** The whole prompt: what a context tier is chosen by. */
export function promptTokens(tokens: TokenBuckets): number {
  return tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
}

/**
 * Whether every number of an exchange is final. Sums beyond what a number holds exactly are not.
 * @param refused the provider said that it did not serve
 */
export function isWhole(responses: readonly ResponseUsage[], refused: boolean): boolean {
  if (responses.length === 0) return refused;
  const sums = addTokens(...responses.map(tokensOf));
  return responses.every((one) => one.complete) && Object.values(sums).every(Number.isSafeInteger);
}

/** Whether a record of a response tells more than another one of it, or as much. */
export function isFuller(candidate: ResponseUsage, kept: ResponseUsage): boolean {
  if (candidate.complete !== kept.complete) return candidate.complete;
  const size = (response: ResponseUsage): number => {
    const tokens = tokensOf(response);
    return promptTokens(tokens) + tokens.outputTokens;
  };
  return size(candidate) >= size(kept);
}

/**
 * Keeps one record for each response id, the fuller one: the same response can be seen twice by a retry, a retrieve,
 * a bridge or two sessions, and is billed once. Responses without an id cannot be told apart and all count.
 */
export function deduplicate(responses: readonly ResponseUsage[]): ResponseUsage[] {
  const byId = new Map<string, ResponseUsage>();
  for (const [index, response] of responses.entries()) {
    const key = response.responseId ?? `without id ${index}`;
    const kept = byId.get(key);
    if (kept === undefined || isFuller(response, kept)) byId.set(key, response);
  }
  return [...byId.values()];
}
