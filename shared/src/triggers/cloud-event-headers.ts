import { CodedError } from '../errors/coded-error.ts';

const prefix = 'ce-';

/** Whether a request is an event in binary content mode: its attributes are headers, its body is the data alone. */
export function isBinaryEvent(headers: Readonly<Record<string, unknown>>): boolean {
  return headers[`${prefix}specversion`] !== undefined;
}

/**
 * The event of a request in binary content mode, still to be checked by its schema (CloudEvents' HTTP protocol binding
 * 1.0.2, section 3.1): each `ce-` header is an attribute, the content type is that of the data.
 * @param headers by lower-case name
 * @param data the parsed body; undefined: there was none
 * @throws CodedError `request_invalid` for a header whose percent-encoding cannot be read
 */
export function readBinaryEvent(
  headers: Readonly<Record<string, unknown>>,
  data: unknown,
): Record<string, unknown> {
  const attributes = Object.entries(headers)
    .filter(([name]) => name.startsWith(prefix) && name.length > prefix.length)
    .map(([name, value]) => [name.slice(prefix.length), decode(name, value)] as const)
    // The data is the body and nothing else.
    .filter(([name]) => name !== 'data' && name !== 'datacontenttype');
  const type = headers['content-type'];
  return {
    ...Object.fromEntries(attributes),
    ...(data === undefined ? {} : { data }),
    ...(data === undefined || typeof type !== 'string' ? {} : { datacontenttype: type }),
  };
}

function decode(name: string, value: unknown): string {
  const text = unquote(Array.isArray(value) ? value.join(', ') : String(value));
  try {
    return decodeURIComponent(text);
  } catch {
    throw new CodedError(
      'request_invalid',
      `The header ${name.slice(0, 80)} cannot be read: its percent-encoding is not that of UTF-8.`,
    );
  }
}

const unquote = (text: string): string =>
  /^".*"$/.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text;
