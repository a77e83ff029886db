import { fragments, usageOf } from './turn.ts';
import type { ScriptedBlock, ScriptedTurn } from './turn.ts';

let responses = 0;

/** Tools that take text instead of JSON, and where a name has its namespace. */
export interface ResponsesTools {
  readonly custom: readonly string[];
  /** Namespace of each tool that has one. */
  readonly namespaces: Readonly<Record<string, string>>;
}

const noTools: ResponsesTools = { custom: [], namespaces: {} };

function responseOf(model: string) {
  responses += 1;
  return { id: `resp_scripted_${responses}`, object: 'response', model, created_at: 1_700_000_000 };
}

function itemOf(block: ScriptedBlock, index: number, tools: ResponsesTools): Record<string, unknown> {
  if ('text' in block)
    return {
      type: 'message',
      id: `item_${responses}_${index}`,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: block.text, annotations: [] }],
    };
  const call = { id: `item_${responses}_${index}`, call_id: block.id, status: 'completed' };
  const text = 'rawArguments' in block ? block.rawArguments : JSON.stringify(block.input);
  if (tools.custom.includes(block.tool))
    return { type: 'custom_tool_call', ...call, name: block.tool, input: text };
  const namespace = tools.namespaces[block.tool];
  const name = namespace === undefined ? { name: block.tool } : { name: block.tool, namespace };
  return { type: 'function_call', ...call, ...name, arguments: text };
}

function usage(turn: ScriptedTurn): object {
  const { input, output, cacheRead } = usageOf(turn);
  return {
    input_tokens: input + cacheRead,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + cacheRead + output,
  };
}

/** The turn as the events of the OpenAI Responses stream. */
export function responsesStreamOf(turn: ScriptedTurn, model: string, tools = noTools): string[] {
  const response = responseOf(model);
  const items = turn.blocks.map((block, index) => itemOf(block, index, tools));
  const events: object[] = [{ type: 'response.created', response: { ...response, status: 'in_progress' } }];
  for (const [output_index, item] of items.entries()) {
    const block = turn.blocks[output_index];
    events.push({ type: 'response.output_item.added', output_index, item: opened(item) });
    if (block !== undefined && 'text' in block)
      for (const delta of fragments(block.text, 12))
        events.push({
          type: 'response.output_text.delta',
          item_id: item['id'],
          output_index,
          content_index: 0,
          delta,
        });
    events.push({ type: 'response.output_item.done', output_index, item });
  }
  events.push({
    type: 'response.completed',
    response: { ...response, status: 'completed', output: items, usage: usage(turn) },
  });
  return events.map((event, sequence_number) => {
    const { type } = event as { type: string };
    return `event: ${type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`;
  });
}

/** The turn as one response, for a client that does not stream. */
export function responsesBody(turn: ScriptedTurn, model: string, tools = noTools): object {
  const output = turn.blocks.map((block, index) => itemOf(block, index, tools));
  return { ...responseOf(model), status: 'completed', output, usage: usage(turn) };
}

/** An item as it is announced: nothing in it yet. */
function opened(item: Readonly<Record<string, unknown>>): object {
  if (item['type'] === 'message') return { ...item, status: 'in_progress', content: [] };
  return { ...item, status: 'in_progress', ...('input' in item ? { input: '' } : { arguments: '' }) };
}
