import { fragments, usageOf } from './turn.ts';
import type { ScriptedBlock, ScriptedTurn } from './turn.ts';

let messages = 0;

function messageOf(turn: ScriptedTurn, model: string) {
  messages += 1;
  const { input, cacheRead } = usageOf(turn);
  return {
    id: `msg_scripted_${messages}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: input,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: 0,
      output_tokens: 1,
    },
  };
}

/** The turn as the events of the Anthropic Messages stream. */
export function streamOf(turn: ScriptedTurn, model = 'scripted-1'): string[] {
  const events: [string, object][] = [['message_start', { message: messageOf(turn, model) }]];
  for (const [index, block] of turn.blocks.entries()) events.push(...blockEvents(block, index));
  events.push([
    'message_delta',
    {
      delta: { stop_reason: stopReasonOf(turn), stop_sequence: null },
      usage: { output_tokens: usageOf(turn).output },
    },
  ]);
  events.push(['message_stop', {}]);
  return events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
}

/** The turn as one message, for a client that does not stream. */
export function messageBody(turn: ScriptedTurn, model = 'scripted-1'): object {
  const message = messageOf(turn, model);
  const content = turn.blocks.map((block) =>
    'text' in block
      ? { type: 'text', text: block.text }
      : { type: 'tool_use', id: block.id, name: block.tool, input: inputOf(block) },
  );
  const usage = { ...message.usage, output_tokens: usageOf(turn).output };
  return { ...message, content, stop_reason: stopReasonOf(turn), usage };
}

function stopReasonOf(turn: ScriptedTurn): string {
  return turn.stopReason ?? (turn.blocks.some((block) => 'tool' in block) ? 'tool_use' : 'end_turn');
}

const inputOf = (block: Exclude<ScriptedBlock, { text: string }>): unknown =>
  'rawArguments' in block ? {} : block.input;

function blockEvents(block: ScriptedBlock, index: number): [string, object][] {
  const stop: [string, object] = ['content_block_stop', { index }];
  if ('text' in block) {
    return [
      ['content_block_start', { index, content_block: { type: 'text', text: '' } }],
      ...fragments(block.text, 12).map((text): [string, object] => [
        'content_block_delta',
        { index, delta: { type: 'text_delta', text } },
      ]),
      stop,
    ];
  }
  const text = 'rawArguments' in block ? block.rawArguments : JSON.stringify(block.input);
  return [
    [
      'content_block_start',
      { index, content_block: { type: 'tool_use', id: block.id, name: block.tool, input: {} } },
    ],
    ...fragments(text, 7).map((partial_json): [string, object] => [
      'content_block_delta',
      { index, delta: { type: 'input_json_delta', partial_json } },
    ]),
    stop,
  ];
}
