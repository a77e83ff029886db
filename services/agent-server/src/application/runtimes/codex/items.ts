import { createTextStream } from '../../text-stream.ts';
import type { MappedCall, ReportedCalls } from '../cli/reported-calls.ts';
import type { CliTalk } from '../cli/talk.ts';
import type { RuntimeContext } from '../runtime.ts';
import { callIdsOf, mapChanges } from './own-calls.ts';
import type { Item } from './protocol.ts';

/** What a person sees of Codex's items: words, commands, patches. */
export interface CodexItems {
  /** The next item belongs to a new exchange with the model. */
  nextTurn(): void;
  turn(): number;
  onStarted(item: Item): void;
  onText(itemId: string, delta: string): Promise<void>;
  onOutput(itemId: string, delta: string): Promise<void>;
  onCompleted(item: Item): Promise<void>;
  /** The calls of a patch that was announced. */
  changesOf(itemId: string): { readonly id: string; readonly mapped: MappedCall }[];
  lastWords(): string;
  flush(): void;
}

/** @param calls its own tools; null where those are off and ours report themselves */
export function createCodexItems(
  context: RuntimeContext,
  talk: CliTalk,
  calls: ReportedCalls | null,
): CodexItems {
  const { sink, signal } = context;
  const patches = new Map<string, { readonly id: string; readonly mapped: MappedCall }[]>();
  const spoken = new Set<string>();
  let turnEnded = true;
  let words = '';
  const text = createTextStream(sink, (piece) =>
    sink.emit({ type: 'text', turn: Math.max(talk.turn, 1), text: piece }),
  );
  const output = new Map<string, ReturnType<typeof createTextStream>>();
  const beginTurn = (): void => {
    if (!turnEnded) return;
    turnEnded = false;
    text.flush();
    talk.turn += 1;
    sink.emit({ type: 'turn', turn: talk.turn });
  };
  const outputOf = (itemId: string) => {
    const known = output.get(itemId);
    if (known !== undefined) return known;
    const made = createTextStream(sink, (piece) =>
      sink.emit({ type: 'output', callId: calls?.callIdOf(itemId) ?? itemId, stream: 'stdout', text: piece }),
    );
    output.set(itemId, made);
    return made;
  };
  const finish = async (id: string, item: Item): Promise<void> => {
    const isError = item.status !== 'completed' && (item.exitCode ?? null) === null;
    const said = item.aggregatedOutput ?? (isError ? `Codex says: ${item.status ?? 'failed'}.` : '');
    const exitCode = item.exitCode == null ? {} : { exitCode: item.exitCode };
    const asked = await calls?.finish(id, { isError, text: said, ...exitCode });
    if (asked === false)
      sink.emit({ type: 'notice', text: `Codex ran the call ${id.slice(0, 100)} without asking for it.` });
  };

  return {
    nextTurn: () => {
      turnEnded = true;
    },
    turn: () => Math.max(talk.turn, 1),
    onStarted: (item) => {
      if (item.type === 'userMessage') return;
      beginTurn();
      text.flush();
      if (calls === null) return;
      if (item.type === 'commandExecution') calls.begin(item.id, talk.turn, 'run_command');
      if (item.type !== 'fileChange') return;
      const mapped = mapChanges(item.changes ?? []);
      const ids = callIdsOf(item.id, mapped.length);
      const parts = mapped.map((part, index) => ({ id: ids[index] ?? item.id, mapped: part }));
      patches.set(item.id, parts);
      for (const part of parts) calls.begin(part.id, talk.turn, part.mapped.tool);
    },
    onText: async (itemId, delta) => {
      spoken.add(itemId);
      await text.write(delta, signal);
    },
    onOutput: (itemId, delta) => outputOf(itemId).write(delta, signal),
    onCompleted: async (item) => {
      if (item.type === 'agentMessage') {
        words = item.text ?? '';
        if (!spoken.has(item.id)) await text.write(words, signal);
        text.flush();
      }
      if (item.type === 'commandExecution') {
        output.get(item.id)?.flush();
        output.delete(item.id);
        await finish(item.id, item);
      }
      if (item.type === 'fileChange') for (const { id } of patches.get(item.id) ?? []) await finish(id, item);
    },
    changesOf: (itemId) => patches.get(itemId) ?? [],
    lastWords: () => words.trim(),
    flush: text.flush,
  };
}
