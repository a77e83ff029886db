/**
 * Snapshot ids that providers serve under for a model that the pinned source knows by its short name and a prefix
 * rule. The prefix rule itself is not taken over: it would price models that do not exist yet.
 */
export const knownSnapshots: Readonly<Record<string, readonly string[]>> = {
  'gpt-5-nano': ['gpt-5-nano-2025-08-07'],
  'claude-3-haiku': ['claude-3-haiku-20240307'],
  'claude-3-opus-latest': ['claude-3-opus-20240229'],
  'claude-3-sonnet': ['claude-3-sonnet-20240229'],
  'claude-3-5-sonnet': [
    'claude-3-5-sonnet-20240620',
    'claude-3-5-sonnet-20241022',
    'claude-3-5-sonnet-latest',
  ],
  'claude-3-5-haiku-latest': ['claude-3-5-haiku-20241022'],
  'claude-3-7-sonnet-latest': ['claude-3-7-sonnet-20250219'],
  'claude-opus-4-0': ['claude-opus-4-20250514'],
  'claude-sonnet-4-0': ['claude-sonnet-4-20250514'],
  'claude-opus-4-1': ['claude-opus-4-1-20250805'],
  'claude-sonnet-4-5': ['claude-sonnet-4-5-20250929'],
  'claude-haiku-4-5': ['claude-haiku-4-5-20251001'],
  'claude-opus-4-5': ['claude-opus-4-5-20251101'],
};
