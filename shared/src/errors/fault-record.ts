import { errorCatalogue } from './catalogue.ts';
import { isCodedError } from './coded-error.ts';

/** What a service log says of a fault. */
export interface FaultRecord {
  /** The class of the error: `CodedError`, `TypeError`; `other` where it has no name of that form. */
  readonly type: string;
  /** Our stable code, a SQLSTATE, or a system's code such as `ECONNREFUSED`. */
  readonly code?: string;
  /** The short text of our code, which never changes with the occurrence. */
  readonly title?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  /** Of an answer over HTTP. */
  readonly status?: number;
  readonly table?: string;
  readonly constraint?: string;
  /** Where in the program it was thrown: file and line, nearest first. */
  readonly at: readonly string[];
  readonly cause?: FaultRecord;
}

const mostPlaces = 8;
const deepestCause = 4;
const isWord = /^[A-Za-z][\w.-]{0,63}$/;
const isCode = /^[A-Za-z0-9][\w.-]{0,63}$/;
const isAddress = /^[0-9a-fA-F.:]{2,45}$/;

/**
 * A fault as a service log has it: codes, names of our own and places in the program, never its sentence. The sentences of
 * git, of Postgres, of a command-line agent and of parsers quote what they were given: code, paths, prompts. Whoever may
 * see a session reads its sentence there.
 */
export function faultRecord(error: unknown, depth = 0): FaultRecord {
  if (!(error instanceof Error)) return { type: 'other', at: [] };
  const { name, cause } = error;
  return {
    type: isWord.test(name) ? name : 'other',
    ...(isCodedError(error) ? { title: errorCatalogue[error.code].title } : {}),
    ...textOf(error, 'code', isCode),
    ...textOf(error, 'syscall', isWord),
    ...textOf(error, 'address', isAddress),
    ...textOf(error, 'table', isWord),
    ...textOf(error, 'constraint', isWord),
    ...numberOf(error, 'port'),
    ...numberOf(isCodedError(error) ? error.details : error, 'status'),
    at: placesOf(error),
    ...(cause === undefined || depth === deepestCause ? {} : { cause: faultRecord(cause, depth + 1) }),
  };
}

function textOf(error: object, name: string, allowed: RegExp): Record<string, string> {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' && allowed.test(value) ? { [name]: value } : {};
}

function numberOf(error: object, name: string): Record<string, number> {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'number' && Number.isSafeInteger(value) ? { [name]: value } : {};
}

/** A frame in a file of ours or of a package; from which folder the program runs is no matter. */
const frame =
  /^ {4}at (?:.* \()?(?:file:\/\/)?\/?.*?((?:services|shared|infra|node_modules)\/[\w@/.:-]*:\d+):\d+\)?$/;

/** The sentence stands before the frames, and may have lines that look like one. */
function placesOf({ message, stack = '' }: Error): string[] {
  const said = message === '' ? 0 : stack.indexOf(message);
  if (said === -1) return [];
  return stack
    .slice(said + message.length)
    .split('\n')
    .flatMap((line) => frame.exec(line)?.[1] ?? [])
    .slice(0, mostPlaces);
}
