import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import type { ToldPatch } from './patches.ts';
import type { ToldSession } from './story.ts';

const dispatcher = 'spiffe://lemniscate/dispatcher/local';
const maxCalls = 12;

/** A session's chain of the audit log, from its opening to its close; it verifies like any other. */
export function tellChain(
  session: ToldSession,
  patch: ToldPatch | null,
  policyDigest: string,
  pseudonym: string,
): ChainedEntry[] {
  const { chance, runningAt, startedAt, createdAt, endedAt, model, server } = session;
  const drafts: (readonly [at: number, draft: AuditDraft])[] = [];
  const add = (
    at: number,
    type: AuditDraft['type'],
    body: AuditDraft['body'],
    subject = dispatcher,
  ): void => {
    drafts.push([
      at,
      { type, subject, body, ...(startedAt === null || at < startedAt ? {} : { attempt: 1, server }) },
    ]);
  };
  add(
    createdAt,
    'session.opened',
    {
      project: session.project.id,
      policyDigest,
      repositoryKind: 'git',
      agent: 'default',
      runtime: 'native',
      model: model.name,
      surface: session.surface,
      interactive: session.surface !== 'trigger',
      execution: 'server',
    },
    pseudonym,
  );
  add(createdAt, 'session.queued', {});
  if (startedAt !== null) add(startedAt, 'attempt.started', {});
  if (runningAt !== null) {
    add(runningAt, 'session.running', { driver: 'bubblewrap', warm: true });
    const calls = Math.min(session.turns, maxCalls);
    for (let turn = 1; turn <= calls; turn += 1) {
      const at = runningAt + ((endedAt - runningAt) * turn) / (calls + 1);
      const call = `call_${turn}`;
      const tool = chance.pick([
        ['run_command', 4],
        ['read_file', 4],
        ['edit_file', 2],
        ['search_files', 1],
      ] as const);
      const human = chance.next() < 0.08;
      add(at, 'model.exchanged', { provider: model.provider, model: model.name, complete: true });
      add(at, 'tool.proposed', { call, tool, argumentsDigest: chance.hex(64) });
      add(
        at,
        'tool.decided',
        {
          call,
          verdict: human ? 'allowedWithPermission' : 'allowedWithoutPermission',
          decidedBy: human ? 'human' : 'automation',
        },
        human ? pseudonym : dispatcher,
      );
      add(at, 'tool.executed', { call, state: 'done', exitCode: chance.next() < 0.85 ? 0 : 1 });
      if (tool === 'read_file' || tool === 'edit_file')
        add(at, tool === 'read_file' ? 'file.read' : 'file.modified', {
          call,
          path: `${session.folder}/service.ts`,
        });
    }
  }
  if (patch !== null)
    add(endedAt, 'diff.offered', { sha256: patch.summary.sha256, files: patch.summary.files.length });
  if (session.reason === 'stopped') add(endedAt, 'session.stopped', {}, pseudonym);
  add(endedAt, 'session.ended', { state: session.state, reason: session.reason });
  if (runningAt !== null) add(endedAt, 'sandbox.destroyed', {});
  add(endedAt, 'chain.closed', {});
  let head = unopened(sessionChain(session.id));
  return drafts.flatMap(([at, draft]) => {
    const extended = extendChain(head, [draft], new Date(at).toISOString());
    head = extended.head;
    return extended.entries;
  });
}
