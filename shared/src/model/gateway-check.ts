import type { z } from 'zod';
import { isProviderBeta, isProviderBlock, isProviderField, isProviderTool } from './provider-tools.ts';
import type { ProviderTool } from './provider-tools.ts';

/** What a policy lets through beyond the list, by name. The policy's author answers for where that leads. */
export interface GatewayExceptions {
  readonly fields?: readonly string[] | undefined;
  readonly toolTypes?: readonly string[] | undefined;
  readonly betas?: readonly string[] | undefined;
  /** Families of provider-run tools, with all that belongs to them. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}

export type RequestCheck =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Where in the request, for example `tools.0.type`. */
      readonly field: string;
      readonly reason: string;
    };

/** Why content that the provider would have to fetch is refused; schemas of all wires use these words. */
export const fetchesNothing = 'content must be in the request itself; the provider fetches nothing for us';

/** Checks a body against an allow-list, without what the policy excepts. Tells the first place that is not on it. */
export function checkAgainst(
  allowList: z.ZodType,
  body: unknown,
  exceptions: GatewayExceptions,
): RequestCheck {
  const first = allowList.safeParse(withoutExceptions(body, exceptions)).error?.issues[0];
  if (first === undefined) return { ok: true };
  const issue = nearestOf(first);
  const place = issue.path.map(String).join('.');
  const field = issue.code === 'unrecognized_keys' ? [place, issue.keys[0]].filter(Boolean).join('.') : place;
  return { ok: false, field: field === '' ? 'body' : field, reason: explain(issue, field) };
}

/** Where a value fits none of several forms, the fault of the form that it fits furthest. */
function nearestOf(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const nearest = issue.errors
    .flatMap(([fault]) => (fault === undefined ? [] : [nearestOf(fault)]))
    .reduce<z.core.$ZodIssue | null>(
      (best, fault) => (best === null || fault.path.length > best.path.length ? fault : best),
      null,
    );
  if (nearest === null || nearest.path.length === 0) return issue;
  return { ...nearest, path: [...issue.path, ...nearest.path] };
}

/** Checks the names in a comma-separated header of betas. */
export function checkBetas(
  header: string,
  value: string | undefined,
  harmless: ReadonlySet<string>,
  exceptions: GatewayExceptions,
): RequestCheck {
  const betas = (value ?? '').split(',').map((name) => name.trim());
  const foreign = betas.find(
    (name) =>
      name !== '' &&
      !harmless.has(name) &&
      exceptions.betas?.includes(name) !== true &&
      !isProviderBeta(name, exceptions.providerTools),
  );
  if (foreign === undefined) return { ok: true };
  return { ok: false, field: header, reason: `the beta ${foreign} is not on the list of this gateway` };
}

function withoutExceptions(body: unknown, exceptions: GatewayExceptions): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const { providerTools } = exceptions;
  const kept = Object.entries(body).filter(
    ([name]) => exceptions.fields?.includes(name) !== true && !isProviderField(name, providerTools),
  );
  const isExceptedTool = (type: string): boolean =>
    exceptions.toolTypes?.includes(type) === true || isProviderTool(type, providerTools);
  const isExceptedBlock = (type: string): boolean => isProviderBlock(type, providerTools);
  return Object.fromEntries(
    kept.map(([name, value]: [string, unknown]) => {
      if (name === 'tools') return [name, without(value, isExceptedTool)];
      if (name === 'input') return [name, without(value, isExceptedBlock)];
      if (name !== 'messages' || !Array.isArray(value) || providerTools === undefined) return [name, value];
      return [name, value.map((message: unknown) => withoutBlocks(message, isExceptedBlock))];
    }),
  );
}

function withoutBlocks(message: unknown, isExcepted: (type: string) => boolean): unknown {
  if (typeof message !== 'object' || message === null || !('content' in message)) return message;
  return { ...message, content: without(message.content, isExcepted) };
}

/** A list without the members of excepted types; what is no list stays as it is. */
function without(list: unknown, isExcepted: (type: string) => boolean): unknown {
  if (!Array.isArray(list)) return list;
  return list.filter((member: { readonly type?: unknown } | null) => {
    const type = member?.type;
    return typeof type !== 'string' || !isExcepted(type);
  });
}

function explain(issue: z.core.$ZodIssue, field: string): string {
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')} is not passed on by this gateway`;
  if (/^tools\.\d+(\.tools\.\d+)?\.type$/.test(field)) {
    return 'only tools that the client runs are passed on; tools of the provider would reach the network';
  }
  if (field.endsWith('.source.type')) return fetchesNothing;
  if (issue.code === 'invalid_union') return 'this kind is not passed on by this gateway';
  return issue.message;
}
