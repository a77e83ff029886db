import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replay, roundPrices, sse } from './testing.ts';

const model = 'claude-sonnet-5';
const start = (usage: object, id = 'msg_1', served = model): string =>
  sse({ type: 'message_start', message: { id, type: 'message', model: served, content: [], usage } });
const delta = (usage: object, stop: string | null = 'end_turn'): string =>
  sse({ type: 'message_delta', delta: { stop_reason: stop }, usage });
const stop = sse({ type: 'message_stop' });
const message = (usage: object, id = 'msg_1', served = model) => ({
  id,
  type: 'message',
  role: 'assistant',
  model: served,
  content: [],
  stop_reason: 'end_turn',
  usage,
});

describe('Anthropic streams', () => {
  test('message_delta is cumulative: the last one counts, and input and cache in it replace', () => {
    const call = replay({
      stream: [
        start({ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 7 }),
        delta({ output_tokens: 40 }, null),
        delta({
          input_tokens: 100,
          output_tokens: 60,
          cache_read_input_tokens: 1000,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        }),
        stop,
      ],
      prices: roundPrices(model),
    });
    assert.deepEqual(call, {
      id: 'case',
      inputTokens: 100,
      outputTokens: 60,
      cacheReadTokens: 1000,
      cacheWriteTokens: 300,
      cacheWrite1hTokens: 200,
      // (100·1 + 60·10 + 1000·0.1 + 100·1.25 + 200·2) / 1e6
      costUsd: '0.001325',
      complete: true,
      costIsLowerBound: false,
      priced: true,
      billableResponses: 1,
    });
  });

  test('null in a later usage forgets nothing, and an explicit zero counts', () => {
    const call = replay({
      stream: [
        start({ input_tokens: 50, output_tokens: 3, cache_read_input_tokens: 9 }),
        delta({ input_tokens: null, cache_read_input_tokens: 0, output_tokens: 8, cache_creation: null }),
        stop,
      ],
    });
    assert.deepEqual([call.inputTokens, call.cacheReadTokens, call.outputTokens], [50, 0, 8]);
  });

  test('one-hour writes survive a later total without lifetimes', () => {
    const call = replay({
      stream: [
        start({
          input_tokens: 1,
          output_tokens: 1,
          cache_creation_input_tokens: 500,
          cache_creation: { ephemeral_1h_input_tokens: 500, ephemeral_5m_input_tokens: 0 },
        }),
        delta({ output_tokens: 2, cache_creation_input_tokens: 500 }),
        stop,
      ],
    });
    assert.deepEqual([call.cacheWriteTokens, call.cacheWrite1hTokens], [500, 500]);
  });

  const begun = start({ input_tokens: 220, output_tokens: 3 });
  const cuts: Readonly<Record<string, readonly string[]>> = {
    'before the first delta': [begun],
    'inside an event': [begun, 'event: message_delta\ndata: {"type":"message_delta","usage":{"output_to'],
    'after the last delta': [begun, delta({ output_tokens: 9 })],
    'by an error event': [begun, sse({ type: 'error', error: { type: 'overloaded_error', message: 'x' } })],
  };
  for (const [where, stream] of Object.entries(cuts)) {
    test(`cut ${where}: what was seen is kept as a lower bound`, () => {
      const call = replay({ stream });
      assert.deepEqual(
        [call.inputTokens, call.complete, call.costIsLowerBound, call.priced, call.billableResponses],
        [220, false, true, true, 1],
      );
      assert.ok(Number(call.costUsd) >= 0.00047);
    });
  }

  test('an end without the closing usage is a lower bound', () => {
    const silent = sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' } });
    for (const stream of [
      [begun, stop],
      [begun, silent, stop],
    ]) {
      const call = replay({ stream });
      assert.deepEqual([call.inputTokens, call.complete, call.costIsLowerBound], [220, false, true]);
    }
  });

  test('cut before anything: incomplete and a lower bound of nothing, never a final zero', () => {
    for (const stream of [[], [''], ['event: message_start\ndata: {"type":"mess']]) {
      const call = replay({ stream });
      assert.deepEqual(
        [call.complete, call.costIsLowerBound, call.costUsd, call.billableResponses],
        [false, true, '0', 0],
      );
    }
    assert.equal(replay({ stream: [], model: 'claude-unheard-of' }).costUsd, null);
  });

  test('a refusal before the message is complete and free', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'x' } };
    const text = JSON.stringify(error);
    for (const stream of [[error], [sse(error)], [text], [text.slice(0, 9), text.slice(9)]]) {
      const call = replay({ stream });
      assert.deepEqual([call.complete, call.costUsd, call.billableResponses], [true, '0', 0]);
    }
  });

  test('a cut attempt and its repeat both count', () => {
    const call = replay({
      stream: [
        begun,
        'data: {"type":"content_bl',
        message({ input_tokens: 220, output_tokens: 30 }, 'msg_2'),
      ],
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.billableResponses], [440, 33, 2]);
    assert.equal(call.complete, false);
  });

  test('a message that tells no usage counts, unknown', () => {
    for (const usage of [null, undefined, 'none', []]) {
      const call = replay({ body: { ...message({}), usage } });
      assert.deepEqual(
        [call.complete, call.costIsLowerBound, call.costUsd, call.billableResponses],
        [false, true, '0', 1],
      );
    }
  });

  test('a body between the pieces of a stream is an exchange of its own', () => {
    const [first, last] = [begun, delta({ output_tokens: 57 }) + stop];
    for (let at = 0; at <= last.length; at += 1) {
      const body = message({ input_tokens: 6, output_tokens: 1 }, 'msg_2');
      const call = replay({ stream: [first + last.slice(0, at), body, last.slice(at)] });
      assert.deepEqual(
        [call.inputTokens, call.outputTokens, call.complete, call.billableResponses],
        [226, 58, true, 2],
      );
    }
  });

  test('a stream glued to the torn line of another is still read', () => {
    const whole = [start({ input_tokens: 10, output_tokens: 1 }, 'msg_2'), delta({ output_tokens: 5 }), stop];
    const bare = whole.map((text) => text.replace(/^event: .*\n/, ''));
    const call = replay({ stream: [begun, 'data: {"type":"content_bl', ...bare] });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.billableResponses], [230, 8, 2]);
  });

  test('a stream glued to the torn end of another is still read', () => {
    const whole = [start({ input_tokens: 10, output_tokens: 1 }, 'msg_2'), delta({ output_tokens: 5 }), stop];
    const call = replay({
      stream: [begun, 'event: content_block_delta\ndata: {"type":"content_bl', ...whole],
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.billableResponses], [230, 8, 2]);
  });

  test('the same response in a stream and a body counts once, the fuller one', () => {
    const full = message({ input_tokens: 220, output_tokens: 30 });
    for (const stream of [
      [begun, full],
      [full, begun],
      [full, full],
    ]) {
      const call = replay({ stream });
      assert.deepEqual([call.outputTokens, call.complete, call.billableResponses], [30, true, 1]);
    }
  });

  test('events cut anywhere, carriage returns and comments change nothing', () => {
    const text = [': ping\r\n\r\n', begun, delta({ output_tokens: 9 }), stop]
      .join('')
      .replaceAll('\n', '\r\n');
    const call = replay({
      stream: Array.from({ length: Math.ceil(text.length / 5) }, (_, at) => text.slice(at * 5, at * 5 + 5)),
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.complete], [220, 9, true]);
  });

  test('events that were parsed already are read as events', () => {
    const events = [begun, delta({ output_tokens: 9 }), stop].map(
      (text) => JSON.parse(text.split('data: ')[1] ?? '') as object,
    );
    assert.deepEqual(
      [replay({ stream: events }).outputTokens, replay({ stream: events }).complete],
      [9, true],
    );
  });
});

describe('Anthropic samplings beyond the top level', () => {
  test('compaction: all iterations are summed, each part by its own prompt', () => {
    const usage = {
      input_tokens: 23_000,
      output_tokens: 1000,
      iterations: [
        { type: 'compaction', input_tokens: 180_000, output_tokens: 3500 },
        { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
      ],
    };
    for (const stream of [
      [message(usage)],
      [start({ input_tokens: 23_000, output_tokens: 1 }), delta(usage), stop],
    ]) {
      const call = replay({ stream, prices: roundPrices(model) });
      assert.deepEqual([call.inputTokens, call.outputTokens, call.costUsd], [203_000, 4500, '0.248']);
      assert.equal(call.billableResponses, 1);
    }
  });

  test('iterations without cache numbers leave those of the top level', () => {
    const call = replay({
      body: message({
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 700,
        iterations: [
          { type: 'compaction', input_tokens: 90, output_tokens: 4 },
          { type: 'message', input_tokens: 10, output_tokens: 5 },
        ],
      }),
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.cacheReadTokens], [100, 9, 700]);
  });

  test('lifetimes that only the top level tells belong to the samplings that wrote', () => {
    const told = (iterations: readonly object[]) =>
      replay({
        body: message({
          input_tokens: 10,
          output_tokens: 0,
          cache_creation_input_tokens: 80,
          cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 50 },
          iterations,
        }),
        prices: roundPrices(model),
      });
    const wrote = (tokens: number, lifetimes: object | null = null) => ({
      type: 'message',
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: tokens,
      cache_creation: lifetimes,
    });
    const whole = told([wrote(80)]);
    assert.deepEqual([whole.cacheWriteTokens, whole.cacheWrite1hTokens], [80, 50]);
    // 30·1.25 + 50·2
    assert.equal(whole.costUsd, '0.0001375');
    const spread = told([wrote(45), wrote(35)]);
    assert.deepEqual(
      [spread.cacheWriteTokens, spread.cacheWrite1hTokens, spread.costUsd],
      [80, 50, '0.0001375'],
    );
    const own = told([wrote(80, { ephemeral_1h_input_tokens: 20 })]);
    assert.equal(own.cacheWrite1hTokens, 20);
  });

  test('what of the cache no sampling tells is the top level’s', () => {
    const call = replay({
      body: message({
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 700,
        cache_creation_input_tokens: 80,
        iterations: [{ type: 'message', input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 700 }],
      }),
    });
    assert.deepEqual([call.cacheReadTokens, call.cacheWriteTokens], [700, 80]);
  });

  test('an advisor is priced as its own model, and makes the call unpriced when that is unknown', () => {
    const usage = (advisor: string) => ({
      input_tokens: 1_000_000,
      output_tokens: 0,
      iterations: [
        { type: 'message', input_tokens: 1_000_000, output_tokens: 0 },
        { type: 'advisor_message', model: advisor, input_tokens: 1_000_000, output_tokens: 0 },
      ],
    });
    assert.equal(replay({ body: message(usage('claude-opus-4-8')) }).costUsd, '7');
    assert.equal(replay({ body: message(usage('claude-unheard-of')) }).costUsd, null);
  });

  test('samplings that an early event told grow with the output', () => {
    const early = { input_tokens: 10, output_tokens: 1 };
    const call = replay({
      stream: [
        start({
          ...early,
          iterations: [
            { type: 'compaction', input_tokens: 90, output_tokens: 4 },
            { type: 'message', ...early },
          ],
        }),
        delta({ output_tokens: 57, iterations: [] }),
        stop,
      ],
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.complete], [100, 61, true]);
  });

  test('no iterations, or none that say anything, change nothing', () => {
    for (const iterations of [null, []]) {
      assert.equal(
        replay({ body: message({ input_tokens: 5, output_tokens: 5, iterations }) }).inputTokens,
        5,
      );
    }
  });
});

describe('Anthropic batches', () => {
  test('only what succeeded is billed, at half the price', () => {
    const result = (id: string, body: object) => ({ custom_id: id, result: body });
    const call = replay({
      api: 'messages.batches',
      stream: [
        result('a', { type: 'succeeded', message: message({ input_tokens: 1_000_000, output_tokens: 0 }) }),
        result('b', { type: 'errored', error: { type: 'invalid_request' } }),
        result('c', { type: 'expired' }),
      ],
    });
    assert.deepEqual([call.costUsd, call.billableResponses, call.complete], ['1', 1, true]);
  });
});

describe('numbers that no provider can mean', () => {
  const faults: readonly (readonly [string, object])[] = [
    ['negative', { input_tokens: -5, output_tokens: 3 }],
    ['broken', { input_tokens: 10, output_tokens: 1.5 }],
    ['a text', { input_tokens: 10, output_tokens: 3, cache_read_input_tokens: '7' }],
    ['beyond what can be counted', { input_tokens: 1e300, output_tokens: 3 }],
    [
      'in a lifetime',
      { input_tokens: 1, output_tokens: 3, cache_creation: { ephemeral_1h_input_tokens: -1 } },
    ],
    ['in a sampling', { input_tokens: 1, output_tokens: 3, iterations: [{ input_tokens: -1 }] }],
    [
      'a one-hour part beyond the whole',
      {
        input_tokens: 1,
        output_tokens: 3,
        cache_creation_input_tokens: 5,
        cache_creation: { ephemeral_1h_input_tokens: 6 },
      },
    ],
    ...[-3, 1.5, 'two'].map(
      (count) =>
        [
          `${count} searches`,
          { input_tokens: 1, output_tokens: 3, server_tool_use: { web_search_requests: count } },
        ] as const,
    ),
    ['not told', { output_tokens: 3 }],
    ['not told at all', {}],
  ];
  for (const [what, usage] of faults)
    test(`${what}: not believed, and the cost is a lower bound`, () => {
      const body = replay({ body: message(usage) });
      assert.deepEqual([body.complete, body.costIsLowerBound], [false, true]);
      const stream = replay({ stream: [start({}), delta(usage), stop] });
      assert.equal(stream.complete, false);
    });

  test('count as nothing', () => {
    const call = replay({
      body: message({ input_tokens: -5, output_tokens: 1.5, cache_read_input_tokens: '7' }),
    });
    assert.deepEqual([call.inputTokens, call.outputTokens, call.cacheReadTokens], [0, 0, 0]);
  });
});
