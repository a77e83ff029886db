import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { moment, plural } from '../parts/format.ts';
import { Button, Card, Empty, Loaded, PageBody } from '../parts/parts.tsx';
import { toast } from '../parts/toasts.tsx';
import { shownLine } from '../session/plain-text.ts';

/** Whose access was taken away, and taking it away. Single sessions are revoked on their own page. */
export function RevocationsPage(): ReactNode {
  const revoked = useQuery({
    queryKey: ['revocations'],
    queryFn: () => ask(api.GET('/v1/revocations')).then(({ users }) => users),
  });
  const restore = useAct(
    (user: { subject: string; version: number }) =>
      ask(
        api.DELETE('/v1/revocations/{subject}', {
          params: { path: { subject: user.subject }, header: seenHeader(user) },
        }),
      ),
    [['revocations']],
    (_answer, { subject }) => toast(`${subject} may log in again.`),
  );
  return (
    <>
      <header className="page-head">
        <h1>Revocations</h1>
        <span className="muted">people whose access was taken away</span>
      </header>
      <PageBody>
        <div className="page-inner grid" style={{ maxWidth: 920 }}>
          <Revoke />
          <Card title="Revoked people" flush>
            <Loaded query={revoked} rows={3}>
              {(users) =>
                users.length === 0 ? (
                  <Empty icon="revoke" title="Nobody is revoked">
                    A session is revoked on its own page.
                  </Empty>
                ) : (
                  <table className="table">
                    <thead>
                      <tr>
                        <th>Person</th>
                        <th>By</th>
                        <th>When</th>
                        <th>Why</th>
                        <th>
                          <span className="visually-hidden">Acts</span>
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {users.map((user) => (
                        <tr key={user.subject}>
                          <td className="mono">{shownLine(user.subject)}</td>
                          <td className="mono">{shownLine(user.revokedBy)}</td>
                          <td className="num">{moment(user.revokedAt)}</td>
                          <td>{shownLine(user.note ?? '–')}</td>
                          <td className="right">
                            <Button disabled={restore.isPending} onClick={() => restore.mutate(user)}>
                              Restore
                            </Button>
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                )
              }
            </Loaded>
          </Card>
        </div>
      </PageBody>
    </>
  );
}

function Revoke(): ReactNode {
  const [subject, setSubject] = useState('');
  const [note, setNote] = useState('');
  const revoke = useAct(
    () =>
      ask(
        api.PUT('/v1/revocations/{subject}', {
          params: { path: { subject: subject.trim() } },
          body: note.trim() === '' ? {} : { note: note.trim() },
        }),
      ),
    [['revocations'], ['rows']],
    ({ sessionsEnded }) => {
      toast(`${subject.trim()} is revoked; ${plural(sessionsEnded, 'session')} ended.`);
      setSubject('');
      setNote('');
    },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    revoke.mutate();
  };
  return (
    <Card title="Take somebody’s access away">
      <form onSubmit={submit} className="row" style={{ alignItems: 'flex-end' }}>
        <label className="field grow">
          <span>Person</span>
          <input
            className="input mono"
            required
            maxLength={256}
            spellCheck={false}
            placeholder="subject, as sessions and the audit log show it"
            value={subject}
            onChange={(event) => setSubject(event.target.value)}
          />
        </label>
        <label className="field grow">
          <span>Why</span>
          <input
            className="input"
            maxLength={1000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <Button
          type="submit"
          look="danger-solid"
          className="large"
          disabled={revoke.isPending || subject.trim() === ''}
        >
          Revoke access
        </Button>
      </form>
      <p className="hint" style={{ marginTop: 8 }}>
        Their logins stop working at once and their live sessions end; nothing of those sessions is kept.
      </p>
    </Card>
  );
}
