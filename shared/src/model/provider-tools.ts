/**
 * Tools that run at the model's provider. Each reaches the network or a machine from there, so that a sandbox without a
 * network has one after all; a policy names the families that a project may use, and none is the default.
 */
export const providerTools = [
  'web_search',
  'web_fetch',
  'code_execution',
  'file_search',
  'image_generation',
  'mcp',
] as const;
export type ProviderTool = (typeof providerTools)[number];

interface Family {
  /** Types of the request's tools; versions are dated. */
  readonly types: RegExp;
  /** Types of blocks and items that come back and are sent again with the next turn. */
  readonly blocks: RegExp;
  readonly betas?: RegExp;
  /** Members of the request that belong to it. */
  readonly fields?: readonly string[];
}

/** Messages API: "Server tools"; Responses API: "Built-in tools"; as of November 2026. */
const families: Readonly<Record<ProviderTool, Family>> = {
  web_search: {
    types: /^web_search(_\d{8}|_preview(_\d{4}_\d{2}_\d{2})?)?$/,
    blocks: /^(web_search_tool_result|web_search_call)$/,
    betas: /^web-search-\d{4}-\d{2}-\d{2}$/,
  },
  web_fetch: {
    types: /^web_fetch_\d{8}$/,
    blocks: /^web_fetch_tool_result$/,
    betas: /^web-fetch-\d{4}-\d{2}-\d{2}$/,
  },
  code_execution: {
    types: /^(code_execution_\d{8}|code_interpreter)$/,
    blocks: /^((bash_|text_editor_)?code_execution_tool_result|code_interpreter_call)$/,
    betas: /^code-execution-\d{4}-\d{2}-\d{2}$/,
  },
  file_search: { types: /^file_search$/, blocks: /^file_search_call$/ },
  image_generation: { types: /^image_generation$/, blocks: /^image_generation_call$/ },
  mcp: {
    types: /^(mcp|mcp_toolset)$/,
    blocks: /^(mcp_tool_use|mcp_tool_result|mcp_call|mcp_list_tools)$/,
    betas: /^mcp-client-\d{4}-\d{2}-\d{2}$/,
    fields: ['mcp_servers'],
  },
};

const familiesOf = (named: readonly ProviderTool[] | undefined): Family[] =>
  (named ?? []).map((name) => families[name]);

/** Whether a tool of the request belongs to one of the named families. */
export function isProviderTool(type: string, named: readonly ProviderTool[] | undefined): boolean {
  return familiesOf(named).some(({ types }) => types.test(type));
}

/** Whether a block or item is what one of the named families leaves in the conversation. */
export function isProviderBlock(type: string, named: readonly ProviderTool[] | undefined): boolean {
  const own = familiesOf(named);
  return own.some(({ blocks }) => blocks.test(type)) || (own.length > 0 && type === 'server_tool_use');
}

export function isProviderBeta(name: string, named: readonly ProviderTool[] | undefined): boolean {
  return familiesOf(named).some(({ betas }) => betas?.test(name) === true);
}

export function isProviderField(name: string, named: readonly ProviderTool[] | undefined): boolean {
  return familiesOf(named).some(({ fields }) => fields?.includes(name) === true);
}
