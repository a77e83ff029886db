import type { Sink } from '../application/ports/sink.ts';
import type { ExporterConfig } from '../config.ts';
import { createFileSink } from './file.ts';

/** The sinks that a configuration asks for; a kind is one line. */
const kinds: readonly ((config: ExporterConfig) => Sink | null)[] = [
  ({ LEMNISCATE_SINK_FILE: path }) => (path === undefined ? null : createFileSink(path)),
];

/** Builds every configured sink. */
export function createSinks(config: ExporterConfig): Sink[] {
  return kinds.flatMap((create) => create(config) ?? []);
}
