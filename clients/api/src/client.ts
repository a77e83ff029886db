import createClient from 'openapi-fetch';
import type { Client } from 'openapi-fetch';
import type { paths } from './schema.ts';

/** The public API, one method for each HTTP method, typed by its description. */
export type Api = Client<paths, 'application/json'>;

/** The body of a request. */
export type BodyOf<Path extends keyof paths, Method extends keyof paths[Path]> = paths[Path][Method] extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Body
  : never;

/** What may stand in the query of a request. */
export type QueryOf<
  Path extends keyof paths,
  Method extends keyof paths[Path],
> = paths[Path][Method] extends {
  parameters: { query?: infer Query };
}
  ? NonNullable<Query>
  : never;

export interface ApiTransport {
  /** Where the API is. */
  readonly url: string;
  /** Sends with the caller's login and deadline, and throws for whatever is not an answer of success. */
  readonly send: (request: Request) => Promise<Response>;
}

/** A client that sends in its caller's way. */
export function createApi({ url, send }: ApiTransport): Api {
  return createClient<paths, 'application/json'>({ baseUrl: url, fetch: send });
}

/**
 * The body of an answer; undefined where the API has nothing to say (204).
 * @throws whatever `send` throws
 */
export async function ask<Data>(
  call: Promise<{ readonly data?: Data; readonly error?: unknown }>,
): Promise<Data> {
  const { data } = await call;
  return data as Data;
}

/** The header that names the version of what was seen; there was none: `"0"`. */
export function seenHeader(thing: { readonly version: number } | undefined): { 'if-match': string } {
  return { 'if-match': `"${thing?.version ?? 0}"` };
}

/** What is set of a query: neither absent nor empty. */
export function given<Values extends Readonly<Record<string, unknown>>>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined | ''> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ''),
  ) as { [Name in keyof Values]?: Exclude<Values[Name], undefined | ''> };
}
