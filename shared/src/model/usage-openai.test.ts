import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replay, sse } from './testing.ts';

const model = 'gpt-5.1';
const response = (status: string, more: object = {}, id = 'resp_1') => ({
  id,
  object: 'response',
  status,
  model,
  service_tier: 'default',
  output: [],
  usage: null,
  ...more,
});
const usage = (input: number, output: number, cached = 0, reasoning = 0) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});
const responses = (stream: readonly unknown[], more: object = {}) =>
  replay({ provider: 'openai', api: 'responses', model, stream, ...more });
const event = (type: string, body: object): string => sse({ type, response: body });
const created = event('response.created', response('in_progress', { service_tier: 'auto' }));

describe('the Responses API', () => {
  test('input includes the cached, output includes the reasoning', () => {
    const call = responses([response('completed', { usage: usage(1000, 100, 600, 80) })]);
    assert.deepEqual([call.inputTokens, call.cacheReadTokens, call.outputTokens], [400, 600, 100]);
    assert.equal(call.costUsd, '0.001575');
  });

  test('writes to the cache are a bucket of their own where they are told', () => {
    const told = {
      ...usage(1000, 0, 200),
      input_tokens_details: { cached_tokens: 200, cache_write_tokens: 300 },
    };
    const call = responses([response('completed', { model: 'gpt-5.6-sol', usage: told })]);
    assert.deepEqual(
      [call.inputTokens, call.cacheReadTokens, call.cacheWriteTokens, call.cacheWrite1hTokens],
      [500, 200, 300, 0],
    );
    // 500·4 + 200·0.4 + 300·5, from 21 August 2026 on
    assert.equal(call.costUsd, '0.00358');
  });

  test('an answer that hit its own bound is final and billed', () => {
    const call = responses([
      created,
      event('response.incomplete', response('incomplete', { usage: usage(10, 5) })),
    ]);
    assert.deepEqual([call.outputTokens, call.complete], [5, true]);
  });

  test('a stream that is cut before its closing event is begun, unknown and a lower bound', () => {
    const call = responses([created, sse({ type: 'response.output_text.delta', delta: 'ok' })]);
    assert.deepEqual(
      [call.outputTokens, call.complete, call.costIsLowerBound, call.costUsd, call.billableResponses],
      [0, false, true, '0', 1],
    );
  });

  test('a failure without usage is not billed', () => {
    const call = responses([
      created,
      event('response.failed', response('failed', { error: { code: 'server_error' } })),
    ]);
    assert.deepEqual([call.complete, call.costUsd, call.billableResponses], [true, '0', 0]);
  });

  test('a cancelled response is a lower bound: what it used until then is not told', () => {
    const cancelled = response('cancelled');
    for (const stream of [
      [cancelled],
      [created, event('response.cancelled', cancelled)],
      [response('queued'), cancelled],
    ]) {
      const call = responses(stream);
      assert.deepEqual(
        [call.complete, call.costIsLowerBound, call.costUsd, call.billableResponses],
        [false, true, '0', 1],
      );
    }
    const told = responses([created, response('cancelled', { usage: usage(10, 5) })]);
    assert.deepEqual([told.complete, told.outputTokens], [true, 5]);
  });

  test('a body that was served and tells no usage counts, unknown', () => {
    for (const stream of [[response('completed')], [{ id: 'r', object: 'response', model, output: [] }]]) {
      const call = responses(stream);
      assert.deepEqual([call.complete, call.costIsLowerBound, call.billableResponses], [false, true, 1]);
    }
  });

  test('a body between the pieces of a stream is an exchange of its own', () => {
    const text = event('response.completed', response('completed', { usage: usage(10, 5) }));
    for (let at = 0; at <= text.length; at += 1) {
      const other = response('completed', { usage: usage(20, 7) }, 'resp_2');
      const call = responses([created, text.slice(0, at), other, text.slice(at)]);
      assert.deepEqual(
        [call.inputTokens, call.outputTokens, call.complete, call.billableResponses],
        [30, 12, true, 2],
      );
    }
  });

  test('a cut stream that is retrieved later counts once and whole, in any order', () => {
    const full = response('completed', { usage: usage(10, 5) });
    for (const stream of [
      [created, full],
      [response('queued'), response('in_progress'), full],
      [full, created, full],
    ]) {
      const call = responses(stream);
      assert.deepEqual([call.outputTokens, call.complete, call.billableResponses], [5, true, 1]);
    }
  });

  test('two responses of one stream both count', () => {
    const call = responses([
      event('response.completed', response('completed', { usage: usage(10, 5) })),
      event('response.completed', response('completed', { usage: usage(20, 7) }, 'resp_2')),
    ]);
    assert.deepEqual([call.inputTokens, call.outputTokens, call.billableResponses], [30, 12, 2]);
  });

  test('the served tier counts, not the requested one', () => {
    const served = (tier: string | null, asked: string) =>
      responses([response('completed', { service_tier: tier, usage: usage(1_000_000, 0) })], {
        request: { service_tier: asked },
      }).costUsd;
    // The long prompt stays within one tier for this model.
    assert.equal(served('default', 'flex'), '1.25');
    assert.equal(served('flex', 'auto'), '0.625');
    assert.equal(served('priority', 'priority'), '2.5');
    assert.equal(served('default', 'priority'), '1.25');
    // Nothing is known of the tier that served: what was asked for says nothing about it.
    for (const silent of ['auto', null])
      for (const asked of ['flex', 'priority']) assert.equal(served(silent, asked), '1.25');
    assert.equal(served('ultrafast', 'auto'), null);
  });

  test('an error body is free', () => {
    const call = responses([{ error: { message: 'x', type: 'invalid_request_error' } }]);
    assert.deepEqual([call.complete, call.costUsd, call.billableResponses], [true, '0', 0]);
  });
});

describe('the Chat Completions API', () => {
  const chat = (stream: readonly unknown[], more: object = {}) =>
    replay({ provider: 'openai', api: 'chat.completions', model: 'gpt-4.1', stream, ...more });
  const chunk = (more: object, id = 'chatcmpl-1'): string =>
    `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', model: 'gpt-4.1', choices: [{ index: 0, delta: {} }], usage: null, ...more })}\n\n`;
  const last = (prompt: number, completion: number, id = 'chatcmpl-1'): string =>
    chunk({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } }, id);
  const done = 'data: [DONE]\n\n';

  test('usage comes with the closing chunk', () => {
    const call = chat([chunk({}), last(90, 9), done]);
    assert.deepEqual([call.inputTokens, call.outputTokens, call.complete], [90, 9, true]);
  });

  test('running totals are cumulative', () => {
    const running = (completion: number) =>
      chunk({ usage: { prompt_tokens: 90, completion_tokens: completion } });
    assert.equal(chat([running(1), running(2), running(3), done]).outputTokens, 3);
    assert.equal(chat([running(1), running(2)]).complete, false);
  });

  test('an answer without usage is unknown, even with its end', () => {
    const body = { id: 'c', object: 'chat.completion', model: 'gpt-4.1', choices: [{}] };
    for (const stream of [
      [chunk({})],
      [chunk({}), done],
      [body],
      [{ ...body, usage: null }],
      [{ ...body, usage: {} }],
    ]) {
      const call = chat(stream);
      assert.deepEqual([call.complete, call.costIsLowerBound, call.billableResponses], [false, true, 1]);
    }
  });

  test('compatible servers tell what their cache served in places of their own', () => {
    const price = { input: 1, output: 1, cacheRead: 0.1 };
    for (const told of [
      { prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 },
      { cached_tokens: 60 },
    ]) {
      const usage = { prompt_tokens: 100, completion_tokens: 10, ...told };
      const call = replay({
        provider: 'compatible',
        api: 'chat.completions',
        model: 'm1',
        body: { id: 'c', object: 'chat.completion', model: 'm1', choices: [], usage },
        prices: { models: { m1: { perMTok: price } } },
      });
      assert.deepEqual([call.inputTokens, call.cacheReadTokens], [40, 60]);
      assert.equal(call.costUsd, '0.000056');
    }
  });

  test('Groq tells its usage and its plain tier in its own words', () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const groq = (tier: string) => ({
      provider: 'groq',
      api: 'chat.completions',
      model: 'm1',
      stream: [
        chunk({ model: 'm1', service_tier: tier }),
        chunk({
          model: 'm1',
          service_tier: tier,
          choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
          x_groq: { id: 'req_1', usage },
        }),
        done,
      ],
      prices: { models: { m1: { perMTok: { input: 1, output: 10 } } } },
    });
    for (const tier of ['on_demand', 'flex']) {
      const call = replay(groq(tier));
      assert.deepEqual(
        [call.inputTokens, call.outputTokens, call.complete, call.costUsd],
        [100, 10, true, '0.0002'],
      );
    }
    // a tier of contracts, with prices that no page tells
    assert.equal(replay(groq('performance')).costUsd, null);
  });

  test('Grok tells its reasoning beside the output, and its total shows it', () => {
    const told = (total: number) =>
      chat([
        {
          id: 'c',
          object: 'chat.completion',
          model: 'grok',
          choices: [{}],
          usage: {
            prompt_tokens: 32,
            completion_tokens: 9,
            total_tokens: total,
            completion_tokens_details: { reasoning_tokens: 94 },
          },
        },
      ]);
    assert.deepEqual([told(135).outputTokens, told(135).complete], [103, true]);
    assert.equal(told(41).outputTokens, 9);
  });

  test('reasoning, audio and rejected predictions are inside the output', () => {
    const call = chat([
      {
        id: 'c',
        object: 'chat.completion',
        model: 'gpt-4.1',
        choices: [{}],
        usage: {
          prompt_tokens: 100,
          completion_tokens: 50,
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: 20, rejected_prediction_tokens: 10 },
        },
      },
    ]);
    assert.deepEqual([call.inputTokens, call.cacheReadTokens, call.outputTokens], [60, 40, 50]);
  });

  test('two completions of one stream both count, a repeat does not', () => {
    const call = chat([last(10, 1, 'a'), done, last(20, 2, 'b'), done, last(10, 1, 'a'), done]);
    assert.deepEqual([call.inputTokens, call.outputTokens, call.billableResponses], [30, 3, 2]);
  });

  test('a batch file’s lines are unwrapped and cost half', () => {
    const body = {
      id: 'c',
      object: 'chat.completion',
      model: 'gpt-4.1',
      choices: [{}],
      usage: { prompt_tokens: 1_000_000, completion_tokens: 0 },
    };
    const stream = [{ custom_id: 'x', response: { status_code: 200, body } }];
    for (const api of ['batches', 'chat.completions.batch']) assert.equal(chat(stream, { api }).costUsd, '1');
  });
});

describe('numbers that no provider can mean', () => {
  const faults: readonly (readonly [string, unknown, unknown, unknown])[] = [
    ['negative', -5, 3, 0],
    ['broken', 10, 1.5, 0],
    ['a text', '10', 3, 0],
    ['beyond what can be counted', 1e300, 3, 0],
    ['a negative share of the cache', 10, 3, -1],
    ['a share of the cache beyond the whole', 10, 3, 11],
    ['not told', 10, undefined, 0],
  ];
  for (const [what, input, output, cached] of faults)
    test(`${what}: not believed, and the cost is a lower bound`, () => {
      const told = {
        input_tokens: input,
        output_tokens: output,
        input_tokens_details: { cached_tokens: cached },
      };
      const whole = responses([event('response.completed', response('completed', { usage: told }))]);
      assert.deepEqual([whole.complete, whole.costIsLowerBound], [false, true]);
      const chatTold = {
        prompt_tokens: input,
        completion_tokens: output,
        prompt_tokens_details: { cached_tokens: cached },
      };
      const chat = replay({
        provider: 'openai',
        api: 'chat.completions',
        model,
        body: { id: 'c', object: 'chat.completion', model, choices: [], usage: chatTold },
      });
      assert.deepEqual([chat.complete, chat.costIsLowerBound], [false, true]);
    });

  test('a share of the cache is never more than the whole', () => {
    const told = {
      input_tokens: 100,
      output_tokens: 0,
      input_tokens_details: { cached_tokens: 70, cache_write_tokens: 500 },
    };
    const call = responses([response('completed', { usage: told })]);
    assert.deepEqual([call.inputTokens, call.cacheReadTokens, call.cacheWriteTokens], [0, 70, 30]);
    assert.equal(call.complete, false);
  });

  test('sums beyond what a number holds are told as a lower bound', () => {
    const large = Number.MAX_SAFE_INTEGER;
    const call = responses([
      response('completed', { usage: usage(large, 1) }, 'a'),
      response('completed', { usage: usage(large, 1) }, 'b'),
    ]);
    assert.deepEqual(
      [call.inputTokens, call.outputTokens, call.complete, call.costIsLowerBound],
      [large, 2, false, true],
    );
    // the cost is a decimal, exact: twice 9007199254740991 at 1.25 and 10
    assert.equal(call.costUsd, '22517998136.8524975');
  });
});

describe('what the provider runs and bills by number', () => {
  const answer = (output: readonly object[], more: object = {}) =>
    responses([response('completed', { output, usage: usage(0, 0) })], more);
  const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } };

  test('a search of the web has a fee; reading a page and a search that failed have none', () => {
    const free = ['open_page', 'find_in_page'].map((type) => ({ ...search, action: { type } }));
    const call = answer([
      search,
      ...free,
      { ...search, status: 'failed' },
      { type: 'web_search_call', status: 'completed' },
    ]);
    assert.deepEqual([call.costUsd, call.costIsLowerBound], ['0.02', false]);
  });

  test('a search of files has a fee of its own', () => {
    const call = answer([{ type: 'file_search_call', status: 'completed', queries: [] }]);
    assert.deepEqual([call.costUsd, call.costIsLowerBound], ['0.0025', false]);
  });

  test('without a price for it the cost is a lower bound, and the tokens are complete', () => {
    const prices = { models: { [model]: { perMTok: { input: 1, output: 1 } } } };
    for (const item of [
      search,
      { type: 'file_search_call', status: 'completed' },
      { type: 'code_interpreter_call', status: 'completed', container_id: 'c' },
      { type: 'image_generation_call', status: 'completed' },
    ]) {
      const call = answer([item], { prices });
      assert.deepEqual([call.costUsd, call.complete, call.costIsLowerBound], ['0', true, true]);
    }
    assert.equal(
      answer([{ type: 'function_call', status: 'completed' }], { prices }).costIsLowerBound,
      false,
    );
    assert.equal(answer([search], { prices: { models: {} } }).costUsd, null);
  });
});
