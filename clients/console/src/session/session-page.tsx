import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole, useSession } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { LiveMark } from '../parts/live-mark.tsx';
import { Button, isLive, Loaded, StateBadge } from '../parts/parts.tsx';
import { modKey, useShortcuts } from '../parts/shortcuts.ts';
import { Composer } from './composer.tsx';
import { shownLine } from './plain-text.ts';
import { Rail } from './rail.tsx';
import { TimelineView } from './timeline-view.tsx';
import { useTimeline } from './use-timeline.ts';

export function SessionPage({ id }: { id: string }): ReactNode {
  return <Loaded query={useSession(id)}>{(session) => <LoadedSession session={session} />}</Loaded>;
}

function LoadedSession({ session }: { session: SessionView }): ReactNode {
  const { timeline, version, stream } = useTimeline(session.id);
  return (
    <>
      <header className="page-head">
        <Link href="/" className="muted" aria-label="All sessions">
          Sessions
        </Link>
        <span className="faint" aria-hidden="true">
          /
        </span>
        <h1 className="truncate">{shownLine(session.instruction.split('\n')[0] ?? '')}</h1>
        <StateBadge state={session.state} reason={session.reason} />
        {isLive(session.state) ? <LiveMark state={stream} /> : null}
        <span className="grow" />
        <Acts session={session} />
      </header>
      <div className="session">
        <div className="session-main">
          <TimelineView session={session} timeline={timeline} version={version} />
          <Composer session={session} />
        </div>
        <Rail session={session} turn={timeline.turn} />
      </div>
    </>
  );
}

function Acts({ session }: { session: SessionView }): ReactNode {
  const [revoking, setRevoking] = useState(false);
  const mayRevoke = useHasRole('administrator');
  const stop = useAct(
    () => ask(api.POST('/v1/sessions/{id}/stop', { params: { path: { id: session.id } } })),
    [['session', session.id]],
  );
  const live = isLive(session.state);
  useShortcuts({ 'mod+.': () => live && stop.mutate() });
  return (
    <span className="row" style={{ flex: 'none' }}>
      {session.diff !== null && session.diff.files.length > 0 && session.diff.state !== 'discarded' ? (
        <Link
          href={`/sessions/${session.id}/diff`}
          className={`button ${session.diff.state === 'offered' && !live ? 'primary' : ''}`}
        >
          Review diff
        </Link>
      ) : null}
      {live && mayRevoke ? (
        <Button look="danger" onClick={() => setRevoking(true)}>
          Revoke
        </Button>
      ) : null}
      {live ? (
        <Button
          look="danger"
          icon="stop"
          shortcut={`${modKey} .`}
          disabled={stop.isPending}
          onClick={() => stop.mutate()}
        >
          Stop
        </Button>
      ) : null}
      {revoking ? <Revoke session={session} onClose={() => setRevoking(false)} /> : null}
    </span>
  );
}

function Revoke({ session, onClose }: { session: SessionView; onClose: () => void }): ReactNode {
  const [note, setNote] = useState('');
  const revoke = useAct(
    () =>
      ask(
        api.POST('/v1/sessions/{id}/revoke', {
          params: { path: { id: session.id } },
          body: note.trim() === '' ? {} : { note: note.trim() },
        }),
      ),
    [['session', session.id]],
    onClose,
  );
  return (
    <FormDialog
      title="Revoke this session"
      act={revoke}
      submit={() => revoke.mutate()}
      submitWord="Revoke session"
      look="danger-solid"
      onClose={onClose}
    >
      <p>
        Its sandbox is destroyed at once, nothing of its work is kept, and the audit log names you. This
        cannot be taken back.
      </p>
      <label className="field">
        <span>What its person is told</span>
        <input
          className="input"
          value={note}
          maxLength={1000}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
