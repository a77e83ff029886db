import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUsageMeter } from '@lemniscate/shared/model/usage-meter.ts';
import type { UsageWire } from '@lemniscate/shared/model/usage-meter.ts';
import { tokensOf } from '@lemniscate/shared/model/usage.ts';
import type { AnswerBody } from '@lemniscate/shared/model/answer-body.ts';
import type { ModelEndpoint, ModelProvider } from '../../application/ports/model-provider.ts';
import { readText } from './scripted/testing/read-message.ts';

type Json = Readonly<Record<string, unknown>>;

/** What differs between the APIs: how something is asked, and where an answer says which model and fault it is. */
interface EndpointCase {
  readonly meter: UsageWire;
  readonly request: Json;
  /** What closes a whole stream. */
  readonly last: RegExp;
  errorOf(body: Json): unknown;
}

const messages = [{ role: 'user', content: 'Say something.' }];
const errorType = (body: Json): unknown => (body['error'] as Json | undefined)?.['type'];
const endpointCases: Readonly<Partial<Record<ModelEndpoint, EndpointCase>>> = {
  'anthropic-messages': {
    meter: 'anthropic-messages',
    request: { max_tokens: 256, messages },
    last: /^event: message_stop$/m,
    errorOf: (body) => (body['type'] === 'error' ? errorType(body) : undefined),
  },
  'openai-responses': {
    meter: 'openai-responses',
    request: { input: messages, store: false },
    last: /^event: response.completed$/m,
    errorOf: errorType,
  },
  'openai-chat': {
    meter: 'openai-chat',
    request: { messages, stream_options: { include_usage: true } },
    last: /^data: \[DONE\]$/m,
    errorOf: errorType,
  },
};

/**
 * What every model provider must do, on each of its endpoints. `model` is one that the provider serves where the test
 * runs.
 */
export function describeModelProvider(
  name: string,
  harness: () => { readonly provider: ModelProvider; readonly model: string },
): void {
  describe(`the provider ${name} keeps the contract`, () => {
    for (const [endpoint, told] of Object.entries(endpointCases))
      describe(endpoint, { concurrency: false }, () =>
        describeEndpoint(endpoint as ModelEndpoint, told, harness),
      );
  });
}

function describeEndpoint(
  endpoint: ModelEndpoint,
  told: EndpointCase,
  harness: () => { readonly provider: ModelProvider; readonly model: string },
): void {
  const send = async (more: Json, signal = new AbortController().signal) => {
    const { provider, model } = harness();
    return provider.send({ endpoint, body: { model, ...told.request, ...more }, headers: {}, signal });
  };
  /** A test that a provider passes by not having the endpoint. */
  const test = (title: string, run: () => Promise<void>): void =>
    void it(title, async () => {
      if (harness().provider.endpoints.has(endpoint)) await run();
      else await assert.rejects(send({}), { code: 'provider_failed' });
    });
  const metered = (text: string, stream: boolean) => {
    const meter = createUsageMeter(told.meter);
    if (stream) meter.stream(text);
    else meter.body(JSON.parse(text) as Json);
    return meter.responses();
  };

  test('streams a whole answer whose usage can be metered', async () => {
    const response = await send({ stream: true });
    assert.equal(response.status, 200);
    assert.match(response.headers['content-type'] ?? '', /^text\/event-stream/);
    const text = await readText(response);
    assert.match(text, told.last);
    const [usage] = metered(text, true);
    assert.equal(usage?.complete, true);
    assert.equal(usage.servedModel, harness().model);
    assert.ok(tokensOf(usage).outputTokens > 0);
  });

  test('answers without a stream in one JSON body', async () => {
    const response = await send({});
    assert.match(response.headers['content-type'] ?? '', /^application\/json/);
    const [usage] = metered(await readText(response), false);
    assert.equal(usage?.servedModel, harness().model);
    assert.ok(tokensOf(usage).inputTokens > 0);
  });

  test('gives every exchange its own id', async () => {
    const ids = await Promise.all(
      [send({}), send({})].map(async (sent) => metered(await readText(await sent), false)[0]?.responseId),
    );
    assert.equal(new Set(ids).size, 2);
  });

  test('hands on a refusal with its status and in the API’s form', async () => {
    const response = await send({ model: 'no-such-model' });
    assert.equal(response.status, 404);
    assert.equal(told.errorOf(JSON.parse(await readText(response)) as Json), 'not_found_error');
  });

  test('sends nothing once it is aborted', async () => {
    await assert.rejects(send({}, AbortSignal.abort()), { name: 'AbortError' });
  });

  for (const way of ['iterated', 'delivered'] as const)
    test(`ends the body when it is aborted on the way, ${way}`, async () => {
      const control = new AbortController();
      const { body } = await send({ stream: true }, control.signal);
      await assert.rejects(
        async () => {
          await read(body, way, () => control.abort());
          assert.fail('the body ended as if it were whole');
        },
        { name: 'AbortError' },
      );
    });

  test('delivers the same bytes that iterating gives, also to a slow reader', async () => {
    const whole = [await readAll('iterated'), await readAll('delivered')];
    for (const text of whole) assert.equal(metered(text, true).length, 1);
    assert.equal(...(whole.map((text) => text.replace(ownWords, '')) as [string, string]));
  });

  async function readAll(way: 'iterated' | 'delivered'): Promise<string> {
    const bytes: Uint8Array[] = [];
    const { body } = await send({ stream: true });
    await read(body, way, (piece) => {
      bytes.push(piece);
      return new Promise((resolve) => setImmediate(resolve));
    });
    return Buffer.concat(bytes).toString();
  }
}

/** What differs between two answers to the same question. */
const ownWords = /"(?:id|item_id|created|created_at|at)":(?:"[^"]*"|\d+)/g;

/** Reads a body to its end; a body that cannot deliver is iterated. */
async function read(
  body: AnswerBody,
  way: 'iterated' | 'delivered',
  each: (bytes: Uint8Array) => Promise<void> | void,
): Promise<void> {
  if (way === 'delivered' && body.deliver !== undefined) return body.deliver((bytes) => each(bytes) ?? null);
  for await (const bytes of body) await each(bytes);
}
