import type { Json } from './json-reading.ts';
import type { ResponseUsage } from './usage.ts';

/** Reads the usage out of one wire form. Feed events and bodies in order; `responses` can be asked at any time. */
export interface UsageFold {
  /** One event of a stream. */
  event(event: Json): void;
  /** The text `[DONE]` of a stream that closes so. */
  done(): void;
  /** The stream is over, by its end or by a cut; what comes next belongs to another. */
  endStream(): void;
  /** A whole JSON answer. */
  body(body: Json): void;
  /** What was seen so far, deduplicated. */
  responses(): ResponseUsage[];
  /** Whether the provider said that it did not serve: an error, or an end without usage. Nothing is billed then. */
  refused(): boolean;
}
