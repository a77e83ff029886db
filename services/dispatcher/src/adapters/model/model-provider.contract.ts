import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUsageMeter } from '@lemniscate/shared/model/usage-meter.ts';
import type { ModelProvider } from '../../application/ports/model-provider.ts';
import { assembleStream, readMessage, readText } from './scripted/testing/read-message.ts';

/** What every model provider must do. `model` is one that the provider serves where the test runs. */
export function describeModelProvider(
  name: string,
  harness: () => { readonly provider: ModelProvider; readonly model: string },
): void {
  const send = (body: Readonly<Record<string, unknown>>, signal = new AbortController().signal) => {
    const { provider, model } = harness();
    const messages = [{ role: 'user', content: 'Say something.' }];
    return provider.send({ body: { model, max_tokens: 256, messages, ...body }, headers: {}, signal });
  };

  describe(`the provider ${name} keeps the contract`, () => {
    it('streams a whole message whose usage can be metered', async () => {
      const response = await send({ stream: true });
      assert.equal(response.status, 200);
      assert.match(response.headers['content-type'] ?? '', /^text\/event-stream/);
      const text = await readText(response);
      const { message, events } = assembleStream(text);
      assert.deepEqual([events[0], events.at(-1)], ['message_start', 'message_stop']);
      assert.notEqual(message.stop_reason, null);
      const meter = createUsageMeter('anthropic-messages');
      meter.stream(text);
      const [usage] = meter.responses();
      assert.equal(usage?.complete, true);
      assert.equal(usage.responseId, message.id);
      assert.ok((usage.parts[0]?.tokens.outputTokens ?? 0) > 0);
    });

    it('answers without a stream in one JSON body', async () => {
      const response = await send({});
      assert.match(response.headers['content-type'] ?? '', /^application\/json/);
      const message = readMessage(await readText(response));
      assert.equal(message.model, harness().model);
      assert.ok(Number(message.usage['input_tokens']) > 0);
    });

    it('gives every exchange its own message id', async () => {
      const ids = await Promise.all(
        [send({}), send({})].map(async (sent) => readMessage(await readText(await sent)).id),
      );
      assert.equal(new Set(ids).size, 2);
    });

    it('hands on a refusal with its status and in the API’s form', async () => {
      const response = await send({ model: 'no-such-model' });
      assert.equal(response.status, 404);
      const body = JSON.parse(await readText(response)) as { type: string; error: { type: string } };
      assert.deepEqual([body.type, body.error.type], ['error', 'not_found_error']);
    });

    it('sends nothing once it is aborted', async () => {
      await assert.rejects(send({}, AbortSignal.abort()), { name: 'AbortError' });
    });

    it('ends the body when it is aborted on the way', async () => {
      const control = new AbortController();
      const response = await send({ stream: true }, control.signal);
      const body = response.body[Symbol.asyncIterator]();
      await body.next();
      control.abort();
      await assert.rejects(
        async () => {
          // What had arrived may still come; then the body must end by throwing.
          while ((await body.next()).done !== true);
          assert.fail('the body ended as if it were whole');
        },
        { name: 'AbortError' },
      );
    });
  });
}
