import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { ToldPatch } from './patches.ts';
import type { ToldSession } from './story.ts';

/** An event at its moment. */
export interface ToldEvent {
  readonly at: number;
  readonly event: SessionEvent;
}

const says = [
  'I will look at how this part is built first.',
  'The tests tell what is expected; I will run them.',
  'This is where it goes wrong. I will change it and run the tests again.',
  'That was it. Let me make sure that nothing else depends on the old behaviour.',
];

/** A session's timeline, in brief: what a person would open it for. */
export function tellEvents(session: ToldSession, patch: ToldPatch | null): ToldEvent[] {
  const { createdAt, startedAt, runningAt, endedAt, server, chance } = session;
  const attempt = startedAt === null ? 0 : 1;
  const events: ToldEvent[] = [
    {
      at: createdAt,
      event: { type: 'state', state: 'pending', phase: 'queued', reason: null, attempt: 0, server: null },
    },
  ];
  if (startedAt !== null)
    events.push({
      at: startedAt,
      event: { type: 'state', state: 'starting', phase: 'placing', reason: null, attempt, server },
    });
  if (runningAt !== null) {
    events.push(
      {
        at: runningAt,
        event: { type: 'running', driver: 'bubblewrap', warm: chance.next() < 0.93, timingsMs: {} },
      },
      {
        at: runningAt,
        event: { type: 'state', state: 'running', phase: 'working', reason: null, attempt, server },
      },
      ...work(session, runningAt),
    );
  }
  if (patch !== null)
    events.push({
      at: endedAt,
      event: {
        type: 'diff',
        state: 'offered',
        files: patch.summary.files.length,
        insertions: patch.summary.insertions,
        deletions: patch.summary.deletions,
      },
    });
  events.push({
    at: endedAt,
    event: {
      type: 'state',
      state: session.state,
      phase: 'ended',
      reason: session.reason,
      attempt,
      server: startedAt === null ? null : server,
    },
  });
  return events;
}

function work({ folder, chance, runningAt, endedAt }: ToldSession, from: number): ToldEvent[] {
  const steps = says.length;
  const at = (step: number): number => from + ((endedAt - (runningAt ?? from)) * (step + 0.5)) / steps;
  const calls = [
    ['list_files', folder, 0, ''],
    ['run_command', 'npm test', chance.next() < 0.6 ? 1 : 0, testOutput(chance.between(3, 60))],
    ['edit_file', `${folder}/service.ts`, 0, ''],
    ['run_command', 'npm test', 0, testOutput(chance.between(3, 60))],
  ] as const;
  return says.flatMap((text, step) => {
    const [tool, title, exitCode, output] = calls[step] ?? calls[0];
    const turn = step + 1;
    const callId = `call_${turn}`;
    const call = { type: 'tool_call', callId, turn, tool, title } as const;
    const whole: SessionEvent[] = [
      { type: 'turn', turn },
      { type: 'text', turn, text },
      { ...call, state: 'generated' },
      { ...call, state: 'calling', decidedBy: 'automation' },
      ...(output === '' ? [] : [{ type: 'output', callId, stream: 'stdout', text: output } as const]),
      { ...call, state: 'done', exitCode, durationMs: chance.between(12, 4_000), outputBytes: output.length },
    ];
    return whole.map((event) => ({ at: at(step), event }));
  });
}

function testOutput(tests: number): string {
  const lines = Array.from({ length: tests }, (_, index) => `ok ${index + 1} - case ${index + 1}`);
  return `TAP version 13\n${lines.join('\n')}\n1..${tests}\n# tests ${tests}\n`;
}
