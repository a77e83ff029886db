import { useState } from 'react';
import type { FormEvent, KeyboardEvent, ReactNode } from 'react';
import type { ExtensionView } from '@lemniscate/shared/api/extension.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useExtensions } from '../api/queries.ts';
import { Button, isLive } from '../parts/parts.tsx';

/** What a person can say to a session now: a further message, that it is finished, or more budget. */
export function Composer({ session }: { session: SessionView }): ReactNode {
  const extensions = useExtensions(session.id).data ?? [];
  const waiting = extensions.find(({ state }) => state === 'waiting');
  if (waiting !== undefined) return <Extend session={session} asked={waiting} />;
  if (!isLive(session.state) || session.reason !== 'awaiting_message') return null;
  return <Answer session={session} />;
}

function Answer({ session }: { session: SessionView }): ReactNode {
  const [text, setText] = useState('');
  const params = { path: { id: session.id } };
  const changes = [['session', session.id]];
  const send = useAct(
    () => ask(api.POST('/v1/sessions/{id}/messages', { params, body: { text } })),
    changes,
    () => setText(''),
  );
  const finish = useAct(() => ask(api.POST('/v1/sessions/{id}/finish', { params })), changes);
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (text.trim() !== '') send.mutate();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  };
  return (
    <form className="composer" onSubmit={submit}>
      <textarea
        className="input grow"
        rows={1}
        aria-label="Next message"
        placeholder="Say what comes next…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <Button type="submit" look="primary" className="large" disabled={send.isPending || text.trim() === ''}>
        Send
      </Button>
      <Button className="large" disabled={finish.isPending} onClick={() => finish.mutate()}>
        Finish
      </Button>
    </form>
  );
}

function Extend({
  session,
  asked: { number, used, grants },
}: {
  session: SessionView;
  asked: Pick<ExtensionView, 'number' | 'used' | 'grants'>;
}): ReactNode {
  const decide = useAct(
    (decision: 'extend' | 'end') =>
      ask(
        api.POST('/v1/sessions/{id}/extension', {
          params: { path: { id: session.id } },
          body: { decision, number },
        }),
      ),
    [
      ['session', session.id],
      ['extensions', session.id],
    ],
  );
  return (
    <div className="composer" style={{ alignItems: 'center' }}>
      <p className="grow">
        <strong>The budget is used up</strong> ({used.actions} actions, {used.minutes.toFixed(1)} minutes). An
        extension grants {grants.actions} actions and {grants.minutes} minutes; {grants.left} are left.
      </p>
      <Button look="primary" disabled={decide.isPending} onClick={() => decide.mutate('extend')}>
        Extend
      </Button>
      <Button disabled={decide.isPending} onClick={() => decide.mutate('end')}>
        End here
      </Button>
    </div>
  );
}
