/**
 * Beta headers that change form or behaviour of the exchange alone: no provider-run tool, no stored file, no other
 * price. Everything else is refused, for otherwise a sandbox reaches the internet through the provider.
 */
export const harmlessBetas: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'advanced-tool-use-2025-11-20',
  'claude-code-20250219',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'max-tokens-3-5-sonnet-2024-07-15',
  'mid-conversation-system-2026-04-07',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
]);
