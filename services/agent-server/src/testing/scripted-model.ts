/** One turn of a scripted model: what it says and asks, and how its message ends. */
export interface ScriptedTurn {
  readonly blocks: readonly ScriptedBlock[];
  readonly stopReason?: string;
  /** The connection is closed after so many events, before the message is whole. */
  readonly cutAfter?: number;
  /** Answers with this status and body instead of a stream. */
  readonly refuse?: {
    readonly status: number;
    readonly body: unknown;
    readonly headers?: Record<string, string>;
  };
  /** Milliseconds between two events. */
  readonly pauseMs?: number;
}
export type ScriptedBlock =
  | { readonly text: string }
  | { readonly id: string; readonly tool: string; readonly input: unknown }
  /** Arguments as raw text, sent in fragments of a few characters. */
  | { readonly id: string; readonly tool: string; readonly rawArguments: string };

/** What the model was asked, as far as tests look at it. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: readonly Record<string, unknown>[];
  }[];
  readonly tools?: readonly { readonly name: string }[];
  readonly tool_choice?: { readonly type: string };
}

/** The turn as the events of the Anthropic Messages stream. */
export function streamOf(turn: ScriptedTurn): string[] {
  const events: [string, object][] = [
    [
      'message_start',
      {
        message: {
          id: 'msg_1',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 10, output_tokens: 1 },
        },
      },
    ],
  ];
  for (const [index, block] of turn.blocks.entries()) events.push(...blockEvents(block, index));
  const asksTool = turn.blocks.some((block) => 'tool' in block);
  const stop_reason = turn.stopReason ?? (asksTool ? 'tool_use' : 'end_turn');
  events.push([
    'message_delta',
    { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
  ]);
  events.push(['message_stop', {}]);
  return events
    .slice(0, turn.cutAfter ?? events.length)
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
}

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

function fragments(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, part) =>
    text.slice(part * length, (part + 1) * length),
  );
}
