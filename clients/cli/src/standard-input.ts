import { addAbortSignal } from 'node:stream';
import type { Readable } from 'node:stream';
import type { CommandIo } from './io.ts';

/** Standard input that ends with an error once the program is told to stop: a terminal or a pipe may never end by itself. */
export function standardInput(io: Pick<CommandIo, 'stdin' | 'signal'>): Readable {
  return addAbortSignal(io.signal, io.stdin);
}
