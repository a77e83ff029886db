import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { costOfCall } from './cost.ts';
import { decimalText } from './decimal.ts';
import { readPinnedPriceBook } from './genai-prices-book.ts';
import { overlayBook } from './price-book.ts';
import { readGivenPriceBook } from './given-price-book.ts';
import { replay, roundPrices } from './testing.ts';
import type { TokenBuckets } from './usage.ts';

const book = readPinnedPriceBook();
const standard = { serviceTier: null, speed: null, region: null };

function cost(
  provider: string,
  model: string,
  tokens: TokenBuckets,
  at: number,
  using = book,
): string | null {
  const response = {
    responseId: 'r',
    servedModel: model,
    tier: standard,
    parts: [{ model: null, tokens }],
    webSearches: 0,
    complete: true,
  };
  const sum = costOfCall([response], { provider, model, at, batch: false }, using);
  return sum === null ? null : decimalText(sum);
}

/** Numbers that repeat: a linear congruence, seeded. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

test('the pinned source, asked as an oracle, agrees on every model that has a price here', () => {
  const random = createRandom(7);
  let compared = 0;
  for (const [provider, prices] of book.providers) {
    if (provider === 'scripted') continue;
    for (const model of prices.models.keys()) {
      for (const at of ['2025-01-15', '2026-03-13', '2026-07-30', '2026-11-02'].map((day) =>
        Date.parse(`${day}T12:00:00Z`),
      )) {
        for (const size of [10_000, 300_000, 1_000_000]) {
          const tokens = {
            inputTokens: random(size),
            outputTokens: random(50_000),
            cacheReadTokens: random(size),
            // Without a price of its own the source takes writes for input; the vendor's factor is what is billed.
            cacheWriteTokens: 0,
            cacheWrite1hTokens: 0,
          };
          const oracle = calcPrice(
            {
              input_tokens: tokens.inputTokens + tokens.cacheReadTokens,
              cache_read_tokens: tokens.cacheReadTokens,
              output_tokens: tokens.outputTokens,
            },
            model,
            { providerId: provider, timestamp: new Date(at) },
          );
          const ours = Number(cost(provider, model, tokens, at));
          const theirs = oracle?.total_price ?? Number.NaN;
          if (provider === 'anthropic' && /^claude-(?:2|v1)/.test(model)) continue;
          assert.ok(
            Math.abs(ours - theirs) < 1e-9 * Math.max(1, theirs),
            `${model} at ${new Date(at).toISOString()}: ${ours} ≠ ${theirs}`,
          );
          compared += 1;
        }
      }
    }
  }
  assert.ok(compared > 1000, `only ${compared} compared`);
});

test('the source has the tiers and periods that the adapter reads', () => {
  const tiers = book.providers.get('anthropic')?.models.get('claude-sonnet-4-6') ?? [];
  assert.deepEqual(
    tiers.map((period) => period.tiers.map((tier) => tier.abovePromptTokens)),
    [[0, 200_000], [0]],
  );
  assert.ok((findProvider({ providerId: 'openai' })?.models.length ?? 0) > 50);
});

describe('context tiers', () => {
  const at = Date.parse('2026-01-10T00:00:00Z');
  const tokens = {
    inputTokens: 1000,
    outputTokens: 1000,
    cacheReadTokens: 198_000,
    cacheWriteTokens: 1000,
    cacheWrite1hTokens: 500,
  };

  test('the whole prompt chooses one tier for every bucket', () => {
    // 200,000 is not above: 1000·3 + 1000·15 + 198000·0.3 + 500·3.75 + 500·6
    assert.equal(cost('anthropic', 'claude-sonnet-4-6', tokens, at), '0.082275');
    // one more: all buckets at the upper tier
    assert.equal(cost('anthropic', 'claude-sonnet-4-6', { ...tokens, inputTokens: 1001 }, at), '0.157056');
  });

  test('each response of a call has a tier of its own', () => {
    const part = (id: string) => ({
      id,
      type: 'message',
      model: 'claude-sonnet-4-6',
      usage: { input_tokens: 150_000, output_tokens: 0 },
    });
    const call = replay({ at: '2026-01-10T00:00:00Z', stream: [part('a'), part('b')] });
    assert.equal(call.costUsd, '0.9');
  });

  test('a given book may have them, with either kind of border', () => {
    const upper = { input: 2, output: 20 };
    const call = (tier: object, input: number) =>
      replay({
        body: { id: 'm', type: 'message', model: 'm1', usage: { input_tokens: input, output_tokens: 0 } },
        prices: { models: { m1: { perMTok: { input: 1, output: 10 }, tiers: [tier] } } },
      }).costUsd;
    assert.equal(call({ abovePromptTokens: 1000, perMTok: upper }, 1000), '0.001');
    assert.equal(call({ abovePromptTokens: 1000, perMTok: upper }, 1001), '0.002002');
    assert.equal(call({ fromPromptTokens: 1000, ...upper }, 1000), '0.002');
  });

  const [cheap, dear] = [
    { input: 1, output: 10 },
    { input: 2, output: 20 },
  ];
  const at200k = (entry: object) =>
    [199_999, 200_000, 200_001].map(
      (input) =>
        replay({
          body: { id: 'm', type: 'message', model: 'm1', usage: { input_tokens: input, output_tokens: 0 } },
          prices: { models: { m1: entry } },
        }).costUsd,
    );
  const [inclusive, exclusive] = [
    ['0.199999', '0.4', '0.400002'],
    ['0.199999', '0.2', '0.400002'],
  ];
  const thresholds: readonly (readonly [object, readonly string[]])[] = [
    [{ abovePromptTokens: 200_000 }, exclusive],
    [{ promptTokens: 200_000 }, exclusive],
    [{ start: 200_000 }, exclusive],
    [{ gt: 200_000 }, exclusive],
    [{ promptTokens: { gt: 200_000 } }, exclusive],
    [{ when: { promptTokens: { '>': 200_000 } } }, exclusive],
    [{ above: '200k' }, exclusive],
    [{ abovePromptTokens: 200_000, upToPromptTokens: null }, exclusive],
    [{ minPromptTokens: 200_000 }, inclusive],
    [{ minPromptTokens: 200_000, maxPromptTokens: 1_000_000 }, inclusive],
    [{ startAt: 200_000 }, inclusive],
    [{ promptTokens: { gte: 200_000 } }, inclusive],
    [{ atLeast: '200_000' }, inclusive],
  ];
  for (const [threshold, expected] of thresholds)
    test(`an upper tier may be told as ${JSON.stringify(threshold)}`, () => {
      assert.deepEqual(at200k({ perMTok: cheap, tiers: [{ ...threshold, perMTok: dear }] }), expected);
      assert.deepEqual(at200k({ perMTok: cheap, tiers: [{ ...threshold, ...dear }] }), expected);
    });
  const bounds: readonly (readonly [object, readonly string[]])[] = [
    [{ maxPromptTokens: 200_000 }, exclusive],
    [{ upToPromptTokens: 200_000 }, exclusive],
    [{ minPromptTokens: 0, maxPromptTokens: 200_000 }, exclusive],
    [{ promptTokens: { lte: 200_000 } }, exclusive],
    [{ promptTokens: { lt: 200_000 } }, inclusive],
    [{ belowPromptTokens: 200_000 }, inclusive],
  ];
  for (const [bound, expected] of bounds)
    test(`a lower tier may be told as ${JSON.stringify(bound)}`, () => {
      assert.deepEqual(at200k({ perMTok: dear, tiers: [{ ...bound, perMTok: cheap }] }), expected);
      const rest = [{ perMTok: dear }, { maxPromptTokens: null, perMTok: dear }];
      for (const above of rest)
        for (const tiers of [
          [{ ...bound, perMTok: cheap }, above],
          [above, { ...bound, perMTok: cheap }],
        ])
          assert.deepEqual(at200k({ tiers }), expected);
    });

  test('prompts that no tier holds for have no price', () => {
    assert.deepEqual(at200k({ tiers: [{ upTo: 200_000, perMTok: cheap }] }), ['0.199999', '0.2', null]);
  });

  test('tiers of each price may stand in any order', () => {
    const input = {
      base: 1,
      tiers: [
        { start: 300_000, price: 3 },
        { start: 200_000, price: 2 },
      ],
    };
    assert.deepEqual(at200k({ perMTok: { input, output: 1 } }), exclusive);
  });

  const [lower, upper] = [
    { input: 1, output: 10, cacheRead: 0.1 },
    { input: 2, output: 20, cacheRead: 0.2 },
  ];
  const spread = (base: number, price: number): object => ({ base, tiers: [{ start: 200_000, price }] });
  const spellings: Record<string, object> = {
    'the threshold in a name': { perMTok: lower, above200k: upper },
    'the threshold in the name of the prices': { perMTok: lower, perMTokAbove200k: upper },
    'the threshold beside the prices': { perMTok: lower, longContextThreshold: 200_000, longContext: upper },
    'tiers of each price': {
      perMTok: { input: spread(1, 2), output: spread(10, 20), cacheRead: spread(0.1, 0.2) },
    },
  };
  Object.assign(spellings, {
    'a threshold of input tokens': { perMTok: lower, tiers: [{ aboveInputTokens: 200_000, perMTok: upper }] },
    'a threshold in tokens': { perMTok: lower, longContext: { thresholdTokens: 200_000, perMTok: upper } },
    'a threshold of the context beside': {
      perMTok: lower,
      contextThreshold: 200_000,
      perMTokAboveThreshold: upper,
    },
    'a threshold and long prices': { perMTok: lower, longContextAbove: 200_000, perMTokLong: upper },
    'names of the pinned source': {
      perMTok: { input_mtok: 1, output_mtok: 10, cache_read_mtok: 0.1 },
      context_tiers: [{ above: 200_000, input_mtok: 2, output_mtok: 20, cache_read_mtok: 0.2 }],
    },
    'a name in each price': {
      perMTok: {
        input: { base: 1, above200k: 2 },
        output: { upTo200k: 10, above200k: 20 },
        cacheRead: { default: 0.1, tiers: [{ above: '200k', price: 0.2 }] },
      },
    },
  });
  for (const [spelling, entry] of Object.entries(spellings)) {
    test(`a given book may spell them with ${spelling}`, () => {
      const call = (cached: number) =>
        replay({
          body: {
            id: 'm',
            type: 'message',
            model: 'm1',
            usage: { input_tokens: 150_000, cache_read_input_tokens: cached, output_tokens: 10 },
          },
          prices: { models: { m1: entry } },
        }).costUsd;
      assert.equal(call(50_000), '0.1551');
      assert.equal(call(50_001), '0.3102002');
    });
  }
});

describe('dates', () => {
  const million = {
    inputTokens: 1_000_000,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
  test('the price of the day counts', () => {
    assert.equal(cost('openai', 'o3', million, Date.parse('2025-06-09T23:59:59Z')), '10');
    assert.equal(cost('openai', 'o3', million, Date.parse('2025-06-10T00:00:00Z')), '2');
  });
  test('a given book may be dated, and has no price before its first day', () => {
    const prices = {
      models: {
        m1: [
          { from: '2026-01-01', perMTok: { input: 2, output: 1 } },
          { from: '2026-06-01', perMTok: { input: 1, output: 1 } },
        ],
      },
    };
    const body = {
      id: 'm',
      type: 'message',
      model: 'm1',
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    };
    const at = (day: string) => replay({ body, prices, at: `${day}T00:00:00Z` }).costUsd;
    assert.deepEqual([at('2025-12-31'), at('2026-05-31'), at('2026-06-01')], [null, '2', '1']);
  });
});

describe('models', () => {
  const body = (model: string) => ({
    id: 'm',
    type: 'message',
    model,
    usage: { input_tokens: 1_000_000, output_tokens: 0 },
  });
  test('a neighbour’s price is never taken', () => {
    for (const model of [
      'claude-sonnet-5-pro',
      'claude-sonnet-4-6-99',
      'claude-sonnet-50',
      'claude-opus-4-5-20991231',
      'anthropic.claude-sonnet-5',
      'CLAUDE-SONNET-5',
      '',
    ]) {
      const call = replay({ body: body(model), model: 'claude-unheard-of' });
      assert.deepEqual([call.costUsd, call.priced, call.inputTokens], [null, false, 1_000_000], model);
    }
  });
  test('the served model counts, not the requested one', () => {
    assert.equal(replay({ body: body('claude-haiku-4-5-20251001'), model: 'claude-opus-5' }).costUsd, '1');
    assert.equal(replay({ body: body('claude-unheard-of'), model: 'claude-opus-5' }).costUsd, null);
  });
  test('one unpriced response makes the call unpriced, not cheaper', () => {
    const call = replay({ stream: [body('claude-haiku-4-5'), { ...body('claude-unheard-of'), id: 'n' }] });
    assert.deepEqual([call.costUsd, call.inputTokens], [null, 2_000_000]);
  });
  test('a given price of a model holds for the ids that the source knows it by', () => {
    const served = (model: string, models: object) =>
      replay({ body: body(model), model: 'claude-haiku-4-5', prices: { models } }).costUsd;
    const price = (input: number) => ({ perMTok: { input, output: 1 } });
    assert.equal(served('claude-haiku-4-5-20251001', { 'claude-haiku-4-5': price(7) }), '7');
    assert.equal(served('claude-haiku-4-5', { 'claude-haiku-4-5-20251001': price(7) }), '7');
    assert.equal(served('claude-opus-5-20260724', { 'claude-opus-5': price(7) }), '7');
    const both = { 'claude-haiku-4-5': price(7), 'claude-haiku-4-5-20251001': price(8) };
    assert.equal(served('claude-haiku-4-5-20251001', both), '8');
    // neither a neighbour nor a snapshot that nobody knows
    assert.equal(served('claude-haiku-4-5-20991231', { 'claude-haiku-4-5': price(7) }), null);
    assert.equal(served('claude-opus-4-5-20251101', { 'claude-haiku-4-5': price(7) }), null);
  });

  test('dated snapshots count where the source says so itself', () => {
    assert.equal(replay({ body: body('claude-opus-5-20260724') }).costUsd, '5');
  });
});

describe('served conditions', () => {
  const million = (more: object, model = 'claude-opus-4-6') => ({
    id: 'm',
    type: 'message',
    model,
    usage: { input_tokens: 1_000_000, output_tokens: 0, ...more },
  });
  test('speed, region and batch multiply every bucket', () => {
    assert.equal(replay({ body: million({}) }).costUsd, '5');
    assert.equal(replay({ body: million({ speed: 'fast' }) }).costUsd, '30');
    assert.equal(replay({ body: million({ inference_geo: 'us' }) }).costUsd, '5.5');
    assert.equal(replay({ body: million({ inference_geo: 'global', speed: 'standard' }) }).costUsd, '5');
    assert.equal(replay({ body: million({ service_tier: 'batch', inference_geo: 'us' }) }).costUsd, '2.75');
    assert.equal(replay({ body: million({ service_tier: 'priority' }) }).costUsd, '5');
  });
  test('a condition without a known factor is unpriced', () => {
    assert.equal(replay({ body: million({ speed: 'fast' }, 'claude-haiku-4-5') }).costUsd, null);
    assert.equal(replay({ body: million({ inference_geo: 'mars' }) }).costUsd, null);
  });
  test('a given modifier applies where its condition was served', () => {
    const factor = (modifiers: object[], usage: object = {}, more: object = {}) =>
      replay({ body: million(usage, 'm1'), prices: roundPrices('m1', { modifiers }), ...more }).costUsd;
    const fast = { name: 'speed=fast', factor: 6 };
    assert.equal(factor([fast], { speed: 'fast' }), '6');
    assert.equal(factor([fast], { speed: 'standard' }), '1');
    assert.equal(factor([{ name: 'inference_geo=us', factor: '1.1' }, fast], { inference_geo: 'us' }), '1.1');
    assert.equal(factor([{ name: 'batch', factor: 0.5 }], { service_tier: 'batch' }), '0.5');
    assert.equal(factor([{ name: 'batch', factor: 0.5 }], {}), '1');
    assert.equal(factor([{ name: 'negotiated discount', factor: '8e-1' }]), '0.8');
    assert.equal(factor([{ name: 'Batch discount', factor: 0.5 }]), '1');
    const tiers = (name: string, tier: string) =>
      replay({
        provider: 'openai',
        api: 'v1/chat/completions',
        body: {
          id: 'c',
          object: 'chat.completion',
          model: 'm1',
          service_tier: tier,
          choices: [],
          usage: { prompt_tokens: 1_000_000, completion_tokens: 0 },
        },
        prices: roundPrices('m1', { modifiers: [{ name, factor: 3 }] }),
      }).costUsd;
    for (const name of ['fast', 'Fast mode', 'service_tier=fast', 'service_tier: fast', 'tier=fast'])
      assert.deepEqual([tiers(name, 'fast'), tiers(name, 'default')], ['3', '1'], name);
  });
});

test('missing cache prices follow the provider’s rule', () => {
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_input_tokens: 1_000_000,
    cache_creation_input_tokens: 1_000_000,
    cache_creation: { ephemeral_1h_input_tokens: 400_000 },
  };
  const call = replay({
    body: { id: 'm', type: 'message', model: 'm1', usage },
    prices: { models: { m1: { perMTok: { input: 1, output: 1 } } } },
  });
  // reads 0.1, five-minute writes 0.6·1.25, one-hour writes 0.4·2
  assert.equal(call.costUsd, '1.65');
});

test('sums are exact where floating point is not', () => {
  const tokens = {
    inputTokens: 3,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
  const given = readGivenPriceBook({ models: { m1: { perMTok: { input: '0.1', output: 0 } } } }, 'anthropic');
  assert.equal(cost('anthropic', 'm1', tokens, 0, given), '0.0000003');
  assert.notEqual(0.1 * 3, 0.3);
});

test('a project’s book lies over the pinned one', () => {
  const given = readGivenPriceBook(
    { asOf: '2026-11-01', models: { 'claude-sonnet-5': { perMTok: { input: 1, output: 1 } } } },
    'anthropic',
  );
  const both = overlayBook(book, given);
  const tokens = {
    inputTokens: 1_000_000,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
  assert.equal(cost('anthropic', 'claude-sonnet-5', tokens, 0, both), '1');
  assert.equal(cost('anthropic', 'claude-opus-5', tokens, 0, both), '5');
  assert.match(both.version, /^genai-prices-0\.1\.8\/lemniscate-\d+\+given-2026-11-01$/);
});

test('searches of the provider cost where the book prices them', () => {
  const body = {
    id: 'm',
    type: 'message',
    model: 'claude-sonnet-5',
    usage: { input_tokens: 0, output_tokens: 0, server_tool_use: { web_search_requests: 3 } },
  };
  assert.equal(replay({ body }).costUsd, '0.03');
  const unknown = replay({ body, prices: roundPrices('claude-sonnet-5') });
  assert.deepEqual([unknown.costUsd, unknown.costIsLowerBound, unknown.complete], ['0', true, true]);
  const fees = {
    webSearchPerThousand: 7,
    webSearchPer1k: '7',
    web_searches_kcount: 7,
    webSearchPerRequest: 0.007,
    web_search_requests_per_thousand: 7,
  };
  for (const [name, price] of Object.entries(fees)) {
    const entry = { perMTok: { input: 1, output: 1 }, [name]: price };
    const call = replay({ body, prices: { models: { 'claude-sonnet-5': entry } } });
    assert.deepEqual([call.costUsd, call.costIsLowerBound], ['0.021', false], name);
  }
});

test('the scripted model has a stand-in price', () => {
  const body = {
    id: 'm',
    type: 'message',
    model: 'scripted-1',
    usage: { input_tokens: 1_000_000, output_tokens: 1_000_000 },
  };
  assert.equal(replay({ provider: 'scripted', model: 'scripted-1', body }).costUsd, '6');
});
