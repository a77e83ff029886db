import { asCount, asObject, asObjects } from './json-reading.ts';
import type { Json } from './json-reading.ts';
import { isProviderTool } from './provider-tools.ts';

/**
 * Searches of one exchange where the request names no bound. The gateway writes it into the request, so that it is one:
 * a search costs about a cent, and what is reserved for an exchange has to cover it.
 */
export const usualWebSearches = 20;

const isSearch = (tool: Json): boolean =>
  typeof tool['type'] === 'string' && isProviderTool(tool['type'], ['web_search']);
/** A request whose searches have a bound, and how many they are at most. */
export interface BoundedSearches {
  readonly body: Json;
  readonly most: number;
}

/** Messages API: each search tool has its own `max_uses`. */
export function boundAnthropicSearches(body: Json): BoundedSearches {
  const { tools } = body;
  if (!Array.isArray(tools) || !asObjects(tools).some(isSearch)) return { body, most: 0 };
  let most = 0;
  const bounded = tools.map((tool: unknown) => {
    const given = asObject(tool);
    if (given === undefined || !isSearch(given)) return tool;
    const own = asCount(given['max_uses']) ?? usualWebSearches;
    most += own;
    return { ...given, max_uses: own };
  });
  return { body: { ...body, tools: bounded }, most };
}

/** Responses API: `max_tool_calls` bounds all tools that run at the provider together. */
export function boundResponsesSearches(body: Json): BoundedSearches {
  if (!asObjects(body['tools']).some(isSearch)) return { body, most: 0 };
  const most = asCount(body['max_tool_calls']) ?? usualWebSearches;
  return { body: { ...body, max_tool_calls: most }, most };
}
