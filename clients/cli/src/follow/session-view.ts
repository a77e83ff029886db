import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import pc from 'picocolors';
import { createCallOutput } from './call-output.ts';

type ToolCall = Extract<SessionEvent, { type: 'tool_call' }>;

/** Lines of a command's output that are shown live before the rest is folded. */
const foldAfterLines = 40;

export interface ViewOptions {
  readonly colour: boolean;
  /** Shows the head of long output alone, and says how to read all of this session. Absent: everything is shown. */
  readonly foldFor?: string | undefined;
}

export interface SessionView {
  show(event: PositionedEvent): void;
  /** Ends an open line of text. */
  flush(): void;
}

const countFiles = (count: number): string => `${count} ${count === 1 ? 'file' : 'files'}`;

/** Writes a session as it happens: states, what the model says, each tool call with its state, output, cost. */
export function createSessionView(
  out: { write(text: string): unknown },
  { colour, foldFor }: ViewOptions,
): SessionView {
  const paint = pc.createColors(colour);
  const output = createCallOutput(foldFor === undefined ? Infinity : foldAfterLines);
  const titles = new Map<string, string>();
  let midLine = false;
  /** What the model has said since it last used a tool. */
  let said = '';

  /** A line that came in the middle of the model's sentence and waits for its end. */
  let held: string | null = null;

  const endText = (): void => {
    if (midLine) out.write('\n');
    midLine = false;
    if (held !== null) out.write(`${held}\n`);
    held = null;
  };

  const line = (text: string): void => {
    endText();
    out.write(`${text}\n`);
  };

  /** The count of an exchange comes by another way than its words and may be there before the last of them. */
  const lineBehindText = (text: string): void => {
    if (midLine) held = text;
    else line(text);
  };

  const marks: Readonly<Record<ToolCall['state'], string>> = {
    generating: paint.dim('○'),
    generated: paint.dim('◔'),
    calling: paint.cyan('◑'),
    done: paint.green('●'),
    errored: paint.red('●'),
    canceled: paint.yellow('●'),
  };

  const outputLines = (lines: readonly string[]): void => {
    for (const text of lines) line(paint.dim(`  │ ${text}`));
  };

  const endOutput = (callId: string): void => {
    const { lines, folded } = output.end(callId);
    outputLines(lines);
    if (folded > 0)
      line(
        paint.dim(
          `  │ … ${folded} more ${folded === 1 ? 'line' : 'lines'}: npx lemniscate logs ${foldFor ?? ''}`,
        ),
      );
  };

  const toolCall = (call: ToolCall): void => {
    // What is still being written is the status line's.
    if (call.state === 'generating' && call.title !== undefined) return;
    if (['done', 'errored', 'canceled'].includes(call.state)) endOutput(call.callId);
    if (call.title !== undefined) titles.set(call.callId, makeVisibleLine(call.title));
    const facts = [
      call.decidedBy === undefined ? '' : `decided by ${call.decidedBy}`,
      call.reported === true ? 'reported' : '',
      call.exitCode === undefined || call.exitCode === null ? '' : `exit ${call.exitCode}`,
      call.durationMs === undefined ? '' : `${Math.round(call.durationMs)} ms`,
      call.droppedBytes === undefined || call.droppedBytes === 0 ? '' : `${call.droppedBytes} bytes dropped`,
    ].filter((fact) => fact !== '');
    const title = titles.get(call.callId) ?? '';
    line(
      `${marks[call.state]} ${paint.bold(makeVisibleLine(call.tool))} ${title} ${paint.dim([call.state, ...facts].join(' · '))}`,
    );
    if (call.message !== undefined && call.message !== '')
      line(paint.dim(`    ${makeVisibleLine(call.message)}`));
  };

  const tell = (event: SessionEvent): void => {
    switch (event.type) {
      case 'state': {
        // The closing words of the model are the end's message as well; nobody wants to read them twice.
        const message = event.message?.trim() === said.trim() ? undefined : event.message;
        const facts = [event.phase, event.reason, event.server, message].filter(Boolean);
        return line(
          `${paint.magenta('◆')} ${paint.bold(event.state)} ${paint.dim(makeVisibleLine(facts.join(' · ')))}`,
        );
      }
      case 'running':
        return line(paint.dim(`  sandbox: ${event.driver}, ${event.warm ? 'warm' : 'cold'}`));
      case 'text':
        out.write(makeVisible(event.text));
        said += event.text;
        midLine = !event.text.endsWith('\n');
        return undefined;
      case 'tool_call':
        said = '';
        return toolCall(event);
      case 'output':
        return outputLines(output.take(event.callId, event.text));
      case 'approval': {
        // Why it is asked is said once.
        const reasons = event.state === 'waiting' ? event.reasons.map(makeVisibleLine).join('; ') : '';
        return line(
          `${paint.yellow('?')} approval ${event.state}: ${makeVisibleLine(event.tool)} ${makeVisibleLine(event.title)} ${paint.dim(reasons)}`.trimEnd(),
        );
      }
      case 'extension':
        return line(
          `${paint.yellow('?')} budget ${event.state}: used ${event.used.actions} actions, ${event.used.minutes} minutes; the next extension grants ${event.grants.actions} actions and ${event.grants.minutes} minutes, ${event.grants.left} more after it`,
        );
      case 'message':
        if (event.state === 'sent') return line(`${paint.cyan('>')} ${makeVisible(event.text ?? '')}`);
        return event.state === 'awaited' ? line(paint.dim('  it waits for you')) : undefined;
      case 'egress':
        if (event.outcome === 'closed')
          return line(
            paint.dim(
              `  closed ${makeVisibleLine(event.host)}:${event.port}: ${event.sentBytes ?? 0} bytes sent, ${event.receivedBytes ?? 0} received`,
            ),
          );
        return line(
          event.outcome === 'connected'
            ? `${paint.yellow('↗')} connected to ${makeVisibleLine(event.host)}:${event.port}`
            : paint.dim(
                `  not connected to ${makeVisibleLine(event.host)}:${event.port} (${makeVisibleLine(event.why ?? 'refused')})`,
              ),
        );
      case 'reported_usage':
        return line(
          paint.dim(
            `  the agent's own count: ${event.inputTokens + event.cacheReadTokens + event.cacheWriteTokens} tokens in, ${event.outputTokens} out`,
          ),
        );
      case 'usage':
        return lineBehindText(
          paint.dim(
            `  ${event.inputTokens} in · ${event.outputTokens} out · ${event.cacheReadTokens} cache read · ${event.cacheWriteTokens} cache write · ${event.priced ? `$${event.totalCostUsd}` : 'unpriced'}`,
          ),
        );
      case 'notice':
        return line(`${paint.yellow('!')} ${makeVisible(event.text)}`);
      case 'checkpoint':
        return line(paint.dim(`  checkpoint ${event.number} (${Math.ceil(event.bytes / 1024)} KiB)`));
      case 'compaction':
        return line(paint.dim(`  the conversation is cut short: ${event.messages} messages become notes`));
      case 'delegation':
        line(
          `${paint.magenta('◆')} sub-agent ${event.sessionId} ${event.state === 'opened' ? 'works on a part of the task' : 'has reported'}`,
        );
        return;
      case 'diff':
        return line(
          `${paint.magenta('◆')} diff ${event.state}: ${event.acceptedFiles === undefined ? '' : `${event.acceptedFiles} of `}${countFiles(event.files)}, +${event.insertions} −${event.deletions}`,
        );
      case 'gap':
        return line(
          `${paint.yellow('!')} ${event.to - event.from + 1} events cannot be shown: ${event.reason}`,
        );
      case 'turn':
      case 'phase':
        return undefined;
      default:
        return event satisfies never;
    }
  };

  return {
    show: (positioned) => tell(positioned.event),
    flush: () => {
      outputLines(output.flush());
      endText();
    },
  };
}
