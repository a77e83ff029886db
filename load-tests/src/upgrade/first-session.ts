import { z } from 'zod';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { Said } from '../simulated/simulated-server.ts';

// A whole session of version 1 of the protocol as it was first spoken, from the side of a server that nobody has upgraded:
// what it pushes, byte for byte but for ids and addresses, and how it reads each answer. Written down once and never changed
// with the code; digests and the patch are literals, for the code that makes them may change.

const named = z.object({ sessionId: z.string(), attempt: z.int().min(1) });
const command = named.extend({ kind: z.enum(['stop']), reason: z.string() });
const eventsAnswer = z.object({ acknowledgedSeq: z.int().min(0), commands: z.array(command) });
const permitAnswer = z.object({
  verdict: z.literal('go'),
  decidedBy: z.enum(['human', 'automation']),
  reasons: z.array(z.string()),
});
const uploadAnswer = z.object({
  uploadId: z.string(),
  put: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }).nullable(),
});
const modelAnswer = z.object({
  type: z.literal('message'),
  role: z.literal('assistant'),
  content: z.array(z.unknown()),
});

const heartbeatAnswer = z.object({
  leases: z.array(named.extend({ leaseMs: z.int().min(1) })),
  stale: z.array(named),
  commands: z.array(command),
});

const at = '2026-11-29T16:00:00.000Z';

const begin = [
  { type: 'phase', phase: 'booting' },
  { type: 'phase', phase: 'preparing' },
  { type: 'running', driver: 'bubblewrap', warm: true, timingsMs: { claim: 3, checkout: 41.5 } },
  { type: 'phase', phase: 'working' },
];

const firstTurn = [
  { type: 'turn', turn: 1 },
  { type: 'text', turn: 1, text: 'I look first.' },
  { type: 'tool_call', callId: 'call_1', turn: 1, tool: 'read_file', state: 'generating' },
  { type: 'tool_call', callId: 'call_1', turn: 1, tool: 'read_file', state: 'generated', title: 'sum.sh' },
];

const called = [
  {
    type: 'tool_call',
    callId: 'call_1',
    turn: 1,
    tool: 'read_file',
    state: 'calling',
    decidedBy: 'automation',
  },
  { type: 'output', callId: 'call_1', stream: 'stdout', text: '#!/bin/bash\n' },
  {
    type: 'tool_call',
    callId: 'call_1',
    turn: 1,
    tool: 'read_file',
    state: 'done',
    exitCode: null,
    durationMs: 2.25,
    outputBytes: 34,
    droppedBytes: 0,
    preview: '1\t#!/bin/bash',
  },
  { type: 'notice', text: 'The model was asked again.' },
  { type: 'turn', turn: 2 },
  { type: 'text', turn: 2, text: 'Mended: it adds now.' },
  { type: 'phase', phase: 'finishing' },
];

const permit = {
  callId: 'call_1',
  turn: 1,
  tool: 'read_file',
  arguments: { path: 'sum.sh' },
  argumentsDigest: '6856795d0466d9c7e7f7822d3209dfe6e34308e37a07090d956a5712374bf1a2',
  waitMs: 10_000,
};

/** Its patch as people get it. */
export const firstPatch = Buffer.from(
  'ZGlmZiAtLWdpdCBhL3N1bS5zaCBiL3N1bS5zaAppbmRleCAxMTExMTExLi4yMjIyMjIyIDEwMDc1NQotLS0gYS9zdW0uc2gKKysrIGIvc3VtLnNoCkBAIC0xLDIgKzEsMiBAQAogIyEvYmluL2Jhc2gKLWVjaG8gJCgoJDEgLSAkMikpCitlY2hvICQoKCQxICsgJDIpKQo=',
  'base64',
);
const patchDigest = 'c3007fa8e6ba2b2e4a65959aa9e25c1478eca553d08445d2a23f5c1129814ca6';

const result = {
  reason: 'finished',
  message: 'Mended: it adds now.',
  diff: {
    sha256: patchDigest,
    bytes: 152,
    baseCommit: 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00',
    baseTree: 'beef0000beef0000beef0000beef0000beef0000',
    files: [{ path: 'sum.sh', change: 'modified', insertions: 1, deletions: 1, flags: [] }],
    insertions: 1,
    deletions: 1,
  },
  patch: { kind: 'inline', base64: firstPatch.toString('base64') },
  timingsMs: { diff: 12, destroy: 4 },
};

type Misread = (what: string) => void;

function reading(what: string, schema: z.ZodType, misread: Misread): (answer: unknown) => void {
  return (answer) => {
    const read = schema.safeParse(answer);
    if (!read.success) misread(`${what}: ${z.prettifyError(read.error)} in ${JSON.stringify(answer)}`);
  };
}

/** How it reads the answer to a heartbeat. @param misread told of each that it could not read */
export const readFirstHeartbeat = (misread: Misread): ((answer: unknown) => void) =>
  reading('heartbeat', heartbeatAnswer, misread);

/**
 * All that it says on a session, in its order.
 * @param misread told of each answer that it could not read
 */
export function sayFirstSession(order: SessionOrder, misread: Misread): readonly Said[] {
  const base = `/internal/sessions/${order.sessionId}/attempts/${order.attempt}`;
  const events = (firstSeq: number, all: readonly object[]): Said => ({
    path: `${base}/events`,
    body: { firstSeq, events: all.map((event) => ({ at, event })) },
    read: reading('events', eventsAnswer, misread),
  });
  return [
    events(1, begin),
    {
      path: '/model/anthropic/v1/messages',
      headers: { 'x-api-key': order.relayToken, 'anthropic-version': '2023-06-01' },
      body: {
        model: order.model,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: order.instruction }],
      },
      read: reading('model', modelAnswer, misread),
    },
    events(begin.length + 1, firstTurn),
    { path: `${base}/permits`, body: permit, read: reading('permit', permitAnswer, misread) },
    // A repeat of what was heard already, as after a lost answer, and what came since.
    events(begin.length + 1, [...firstTurn, ...called]),
    {
      path: `${base}/uploads`,
      body: { sha256: patchDigest, bytes: 152 },
      read: reading('upload', uploadAnswer, misread),
    },
    { path: `${base}/result`, body: result, read: () => undefined },
  ];
}
