import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { ask } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useOneAtATime } from '../api/one-at-a-time.ts';
import { useAct } from '../api/queries.ts';
import { span } from '../parts/format.ts';
import { Badge, Button, useNow } from '../parts/parts.tsx';
import { useShortcuts } from '../parts/shortcuts.ts';
import { shown } from '../session/plain-text.ts';

type Answer = Omit<BodyOf<'/v1/sessions/{id}/approvals/{approvalId}', 'post'>, 'argumentsDigest'>;

/**
 * One tool call that waits for a person: exactly what would run, why it asks, and the answers. What is sent back names
 * the digest of the arguments shown here, so nobody approves what they have not seen.
 * @param isFirst whether the keys `y`, `s` and `n` are meant for this one
 */
export function ApprovalCard({ approval, isFirst }: { approval: ApprovalView; isFirst: boolean }): ReactNode {
  const now = useNow();
  const [refusing, setRefusing] = useState(false);
  const [message, setMessage] = useState('');
  const decide = useAct(
    (answer: Answer) =>
      ask(
        api.POST('/v1/sessions/{id}/approvals/{approvalId}', {
          params: { path: { id: approval.sessionId, approvalId: approval.id } },
          body: { ...answer, argumentsDigest: approval.argumentsDigest },
        }),
      ),
    [['approvals'], ['session', approval.sessionId]],
  );
  const send = useOneAtATime(decide.mutate);
  const approve = (scope: 'once' | 'session'): void => send({ decision: 'approve', scope });
  const refuse = (): void =>
    send({ decision: 'reject', ...(message.trim() === '' ? {} : { message: message.trim() }) });
  const busy = decide.isPending || (decide.isSuccess && approval.people === 1);
  useShortcuts(
    { y: () => approve('once'), s: () => approve('session'), n: () => setRefusing(true) },
    isFirst && !busy && !refusing,
  );
  const keys = (key: string): { shortcut?: string } => (isFirst ? { shortcut: key } : {});

  return (
    <section className="approval" aria-label={`Approval of ${approval.tool}`}>
      <div className="approval-head">
        <span>The agent asks to use {approval.tool.replaceAll('_', ' ')}</span>
        <span className="num">{span(Math.max(0, Date.parse(approval.expiresAt) - now))} left</span>
      </div>
      <div className="approval-body">
        <Arguments approval={approval} />
        {approval.reasons.length === 0 ? null : (
          <ul className="hint">
            {approval.reasons.map((reason) => (
              <li key={reason}>{shown(reason)}</li>
            ))}
          </ul>
        )}
        {approval.people > 1 ? (
          <p className="row">
            <Badge tone="amber">
              {approval.approvedBy.length} of {approval.people} people
            </Badge>
            <span className="hint">This takes {approval.people} different people.</span>
          </p>
        ) : null}
        {refusing ? (
          <form
            className="row"
            onSubmit={(event) => {
              event.preventDefault();
              refuse();
            }}
          >
            <input
              className="input small grow"
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the person has just asked to write this
              autoFocus
              maxLength={4096}
              aria-label="What the agent is told"
              placeholder="Tell the agent what to do instead (may be empty)"
              value={message}
              onChange={(event) => setMessage(event.target.value)}
              onKeyDown={(event) => event.key === 'Escape' && setRefusing(false)}
            />
            <Button type="submit" look="danger-solid" disabled={busy}>
              Refuse
            </Button>
            <Button onClick={() => setRefusing(false)}>Back</Button>
          </form>
        ) : (
          <div className="row wrap">
            <Button look="primary" disabled={busy} onClick={() => approve('once')} {...keys('y')}>
              Approve once
            </Button>
            <Button
              disabled={busy}
              onClick={() => approve('session')}
              title={shown(approval.pattern)}
              {...keys('s')}
            >
              For this session
            </Button>
            <Button look="danger" disabled={busy} onClick={() => setRefusing(true)} {...keys('n')}>
              Refuse…
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}

/** The arguments as they would be used; a change of a file as what goes and what comes. */
function Arguments({ approval }: { approval: ApprovalView }): ReactNode {
  const { command, path, content, old_text: before, new_text: after, ...rest } = approval.arguments;
  const others = Object.entries(rest);
  return (
    <>
      {typeof path === 'string' ? <code>{shown(path)}</code> : null}
      {typeof command === 'string' ? <pre className="command">{shown(command)}</pre> : null}
      {typeof content === 'string' ? <pre className="command">{shown(content)}</pre> : null}
      {typeof before === 'string' && typeof after === 'string' ? (
        <div className="command" style={{ padding: 0 }}>
          <pre style={{ padding: '8px 12px', background: 'var(--deleted)' }}>{shown(before)}</pre>
          <pre style={{ padding: '8px 12px', background: 'var(--added)' }}>{shown(after)}</pre>
        </div>
      ) : null}
      {others.length === 0 ? null : (
        <dl className="facts">
          {others.map(([name, value]) => (
            <div key={name} style={{ display: 'contents' }}>
              <dt>{shown(name)}</dt>
              <dd className="mono">{shown(typeof value === 'string' ? value : JSON.stringify(value))}</dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}
