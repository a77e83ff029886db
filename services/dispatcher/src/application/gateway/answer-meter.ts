import { StringDecoder } from 'node:string_decoder';
import { createUsageMeter } from '@lemniscate/shared/model/usage-meter.ts';
import type { UsageMeter, UsageWire } from '@lemniscate/shared/model/usage-meter.ts';
import { isWhole } from '@lemniscate/shared/model/usage.ts';
import type { ResponseUsage } from '@lemniscate/shared/model/usage.ts';

/** Reads the usage out of an answer's bytes on their way past; never changes or holds them. */
export interface AnswerMeter {
  push(bytes: Uint8Array): void;
  /** The answer is over, by its end or by a cut. Complete only when the provider itself said so. */
  end(): { readonly responses: readonly ResponseUsage[]; readonly complete: boolean };
}

/** A JSON answer longer than this is relayed and not metered as whole. Bytes. */
const maxJsonBytes = 32 * 1024 * 1024;

/** A meter for an answer of a wire form. */
export function createAnswerMeter(wire: UsageWire, contentType: string): AnswerMeter {
  return contentType.startsWith('text/event-stream') ? createStreamMeter(wire) : createJsonMeter(wire);
}

/**
 * Bytes that are read together: a piece is a word or two, and most of what reading one costs is the same for twenty (4.4 µs
 * a piece, and a fifth of it this way). Nothing is read of a stream before its end, so that nobody waits for it.
 */
const readTogether = 4096;

function createStreamMeter(wire: UsageWire): AnswerMeter {
  const meter = createUsageMeter(wire);
  // Chunks are cut anywhere, also inside a character.
  const decoder = new StringDecoder('utf8');
  // A copy: a piece is a view of the socket's buffer, which it would keep as a whole.
  const held = Buffer.allocUnsafeSlow(readTogether);
  let used = 0;
  const read = (): void => {
    if (used > 0) meter.stream(decoder.write(held.subarray(0, used)));
    used = 0;
  };
  return {
    push: (bytes) => {
      if (bytes.byteLength > readTogether - used) read();
      if (bytes.byteLength > readTogether)
        return meter.stream(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
      held.set(bytes, used);
      used += bytes.byteLength;
    },
    end: () => {
      read();
      meter.endStream();
      return summarise(meter);
    },
  };
}

function createJsonMeter(wire: UsageWire): AnswerMeter {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push: (bytes) => {
      length += bytes.byteLength;
      if (length <= maxJsonBytes) chunks.push(bytes);
      else chunks.length = 0;
    },
    end: () => {
      const meter = createUsageMeter(wire);
      const body = parse(Buffer.concat(chunks).toString('utf8'));
      if (body !== null) meter.body(body);
      return summarise(meter);
    },
  };
}

/** An answer that is nothing but the provider's refusal is whole and costs nothing, whatever its status. */
function summarise(meter: UsageMeter): { responses: readonly ResponseUsage[]; complete: boolean } {
  const responses = meter.responses();
  return { responses, complete: isWhole(responses, meter.refused()) };
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    // A cut answer: nothing can be read from half a JSON document.
    return null;
  }
}
