import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSessionSchema } from '../api/session.ts';
import { isCodedError } from '../errors/coded-error.ts';
import { policySchema } from '../policy/policy.ts';
import type { PolicyInput } from '../policy/policy.ts';
import { checkOrder } from './check-order.ts';

const served = ['scripted-1', 'big-1'];
const offer = {
  serves: (model: string, runtime: string) =>
    runtime === 'codex' ? model === 'other-api-1' : served.includes(model),
  examples: served,
  defaultModel: 'scripted-1',
  defaultModels: { codex: 'other-api-1' },
};
const check = (request: object, policy: PolicyInput = {}) =>
  checkOrder(
    createSessionSchema.parse({
      instruction: 'do',
      repository: { kind: 'git', url: 'https://h/r' },
      ...request,
    }),
    policySchema.parse(policy),
    offer,
  );

describe('the names in a request', () => {
  test('absent ones become the fleet’s', () => {
    assert.deepEqual(check({}), { model: 'scripted-1', runtime: 'native' });
    assert.equal(check({ model: 'big-1' }).model, 'big-1');
  });

  test('a runtime gets a model that it can speak to, and no other', () => {
    assert.deepEqual(check({ runtime: 'codex' }), { model: 'other-api-1', runtime: 'codex' });
    assert.throws(
      () => check({ runtime: 'codex', model: 'scripted-1' }),
      (error) => isCodedError(error, 'model_unknown'),
    );
  });

  test('an agent’s provider has to serve the model, whoever names it', () => {
    const named = { ...offer, providerOf: (model: string) => (model === 'big-1' ? 'own' : 'outside') };
    const ask = (model: string | undefined, agent: { model?: string; provider?: string }) =>
      checkOrder(
        createSessionSchema.parse({
          instruction: 'do',
          repository: { kind: 'git', url: 'https://h/r' },
          ...(model === undefined ? {} : { model }),
        }),
        policySchema.parse({}),
        named,
        agent,
      );
    assert.equal(ask(undefined, { model: 'big-1', provider: 'own' }).model, 'big-1');
    for (const model of [undefined, 'scripted-1'])
      assert.throws(
        () => ask(model, { provider: 'own' }),
        (error) => isCodedError(error, 'provider_unknown') && error.message.includes('"own"'),
      );
  });

  test('a policy narrows models; its own becomes the default', () => {
    assert.equal(check({}, { models: ['big-1'] }).model, 'big-1');
    assert.throws(
      () => check({ model: 'scripted-1' }, { models: ['big-1'] }),
      (error) => isCodedError(error, 'model_unknown') && error.message.includes('big-1'),
    );
  });

  test('a model that nobody serves is refused, also when the policy names it', () => {
    const unknown = (error: unknown): boolean => isCodedError(error, 'model_unknown');
    assert.throws(() => check({ model: 'gone-1' }), unknown);
    assert.throws(() => check({ model: 'gone-1' }, { models: ['gone-1'] }), unknown);
    assert.throws(() => check({}, { models: ['gone-1'] }), unknown);
  });

  test('execution follows the policy, the surface and the pin', () => {
    const workstation = { execution: 'workstation', surface: 'terminal', server: 'ws-1' };
    assert.ok(check(workstation));
    const refused: [object, PolicyInput][] = [
      [workstation, { execution: 'server' }],
      [{}, { execution: 'workstation' }],
      [{ ...workstation, surface: 'api' }, {}],
      [{ ...workstation, surface: 'trigger' }, {}],
      [{ ...workstation, server: undefined }, {}],
    ];
    for (const [request, policy] of refused)
      assert.throws(
        () => check(request, policy),
        (error) => isCodedError(error, 'execution_refused'),
        JSON.stringify(request),
      );
  });
});
