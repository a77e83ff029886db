import type { SessionUpdate, ToolCallContent, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { ToolCallState } from '@lemniscate/shared/tool-call/state.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { join } from 'node:path';

type ToolCallEvent = Extract<SessionEvent, { type: 'tool_call' }>;

/**
 * The six states in the protocol's four. `canceled` has none of its own and is a call that failed; the exact state goes
 * along under `_meta`, so that an editor that knows us loses nothing.
 */
const statuses: Readonly<Record<ToolCallState, ToolCallStatus>> = {
  generating: 'pending',
  generated: 'pending',
  calling: 'in_progress',
  done: 'completed',
  errored: 'failed',
  canceled: 'failed',
};

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  search_files: 'search',
  write_file: 'edit',
  edit_file: 'edit',
  run_command: 'execute',
};

/** What an editor calls this kind of tool. */
export function toolKind(tool: string): ToolKind {
  return kinds[tool] ?? 'other';
}

/** The end of a command's output that an editor is shown while it runs, in UTF-16 units. */
const shownOutput = 16 * 1024;

/** Turns a session's events into what an editor shows. Keeps the output of calls that run. */
export interface UpdateWriter {
  /** @param replayed also shows what the person said, which a live editor shows itself */
  updates(event: SessionEvent, replayed: boolean): SessionUpdate[];
}

/** @param folder the repository's, below which the paths of changes are */
export function createUpdateWriter(folder: string): UpdateWriter {
  const outputs = new Map<string, string>();
  const changes = new Map<string, ToolCallContent>();

  function toolCall(event: ToolCallEvent): SessionUpdate {
    const { callId: toolCallId, tool, state } = event;
    const status = statuses[state];
    const title = makeVisibleLine(event.title === undefined ? tool : `${tool} ${event.title}`);
    const meta = { lemniscate: { state, ...(event.decidedBy ? { decidedBy: event.decidedBy } : {}) } };
    if (state === 'generating')
      return {
        sessionUpdate: 'tool_call',
        toolCallId,
        title,
        kind: toolKind(tool),
        status,
        _meta: meta,
      };
    const ended = status === 'completed' || status === 'failed';
    const words = event.message ?? event.preview;
    const output = outputs.get(toolCallId);
    if (ended) outputs.delete(toolCallId);
    const shown = output ?? words;
    if (event.path !== undefined && event.newText !== undefined)
      changes.set(toolCallId, {
        type: 'diff',
        path: join(folder, event.path),
        ...(event.oldText === undefined ? {} : { oldText: event.oldText }),
        newText: event.newText,
      });
    // An update takes the place of what stood before: the change stays beside the words.
    const change = changes.get(toolCallId);
    if (ended) changes.delete(toolCallId);
    const content = [
      ...(change === undefined ? [] : [change]),
      ...(ended && shown !== undefined && shown !== '' ? [textContent(makeVisible(shown))] : []),
    ];
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      ...(event.title === undefined ? {} : { title }),
      ...(content.length === 0 ? {} : { content }),
      ...(event.exitCode === undefined && event.durationMs === undefined
        ? {}
        : { rawOutput: { exitCode: event.exitCode ?? null, durationMs: event.durationMs ?? null } }),
      _meta: meta,
    };
  }

  function output(callId: string, text: string): SessionUpdate {
    const tail = `${outputs.get(callId) ?? ''}${text}`.slice(-shownOutput);
    outputs.set(callId, tail);
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      content: [textContent(makeVisible(tail.toWellFormed()))],
    };
  }

  return {
    updates: (event, replayed) => {
      switch (event.type) {
        case 'text':
          return [message(makeVisible(event.text))];
        case 'tool_call':
          return [toolCall(event)];
        case 'output':
          return [output(event.callId, event.text)];
        case 'notice':
          return [thought(`${makeVisible(event.text)}\n`)];
        case 'state':
          return [thought(`${stateWords(event)}\n`)];
        case 'extension':
          return event.state === 'waiting' ? [message(extensionWords(event))] : [];
        case 'message':
          return replayed && event.state === 'sent' && event.text !== undefined
            ? [{ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: event.text } }]
            : [];
        case 'delegation':
          return [
            thought(
              `Sub-agent ${event.sessionId} ${event.state === 'opened' ? 'works on a part of the task' : 'has reported'}.\n`,
            ),
          ];
        case 'gap':
          return [thought(`${event.to - event.from + 1} earlier events cannot be shown: ${event.reason}\n`)];
        default:
          return [];
      }
    },
  };
}

function message(text: string): SessionUpdate {
  return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
}

function thought(text: string): SessionUpdate {
  return { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } };
}

/** Text as the content of a tool call. */
export function textContent(text: string) {
  return { type: 'content', content: { type: 'text', text } } as const;
}

function stateWords(event: Extract<SessionEvent, { type: 'state' }>): string {
  const facts = [event.state, event.phase, event.reason, event.server].filter((fact) => fact !== null);
  return makeVisibleLine(facts.join(' · '));
}

function extensionWords(event: Extract<SessionEvent, { type: 'extension' }>): string {
  const { used, grants } = event;
  return `\n\nThe budget is used up after ${used.actions} actions and ${used.minutes} minutes. Your next message grants ${grants.actions} more actions and ${grants.minutes} more minutes (${grants.left} more after that).\n`;
}
