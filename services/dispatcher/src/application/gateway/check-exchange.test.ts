import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkExchange } from './check-exchange.ts';

const caller = {
  claim: { sessionId: 's', attempt: 1, serverId: 'a' },
  project: 'local',
  model: 'm',
  rules: {},
  providerTools: [],
};

test('a request that would overflow the stack of whoever writes it out is refused before a provider is asked', () => {
  const levels = 50_000;
  const input = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const body = `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":${input}}]}]}`;
  assert.throws(
    () => checkExchange({ providerOf: () => undefined }, caller, 'anthropic-messages', Buffer.from(body), {}),
    {
      code: 'request_invalid',
      message: /128 levels/,
    },
  );
});
