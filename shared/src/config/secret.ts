const inspect = Symbol.for('nodejs.util.inspect.custom');

/** A value that redacts itself wherever it is printed; only `reveal` gives it out. */
export interface Secret {
  reveal(): string;
  toJSON(): string;
  toString(): string;
}

/** Wraps a secret. The text lives in a closure, so no property enumeration can find it. */
export function secret(text: string): Secret {
  const redacted = '[secret]';
  const value = { reveal: () => text, toJSON: () => redacted, toString: () => redacted };
  Object.defineProperty(value, inspect, { value: () => redacted, enumerable: false });
  return value;
}
