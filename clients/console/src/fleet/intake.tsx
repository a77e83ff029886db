import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { moment } from '../parts/format.ts';
import { Button } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { useServers } from './servers.tsx';
import { useQueue } from './use-queue.ts';

/** Whether new sessions are placed at all, and the switch for it. */
export function Intake(): ReactNode {
  const mayOperate = useHasRole('operator', 'administrator');
  const paused = useQuery({
    queryKey: ['intake'],
    refetchInterval: 5_000,
    queryFn: () => ask(api.GET('/v1/intake')).then((answer) => answer.paused),
  });
  const resume = useAct(
    (pause: { scope: string; version: number }) =>
      ask(
        api.DELETE('/v1/intake/{scope}', {
          params: { path: { scope: pause.scope }, header: seenHeader(pause) },
        }),
      ),
    [['intake']],
  );
  const [pausing, setPausing] = useState(false);
  return (
    <span className="row">
      {(paused.data ?? []).map((one) => (
        <span key={one.scope} className="row">
          <span className="badge amber" title={`${shownLine(one.pausedBy)}, ${moment(one.pausedAt)}`}>
            {one.scope} is paused{one.note === null ? '' : `: ${shownLine(one.note)}`}
          </span>
          {mayOperate ? (
            <Button
              disabled={resume.isPending}
              onClick={() => resume.mutate(one)}
              aria-label={`Resume ${one.scope}`}
            >
              Resume
            </Button>
          ) : null}
        </span>
      ))}
      {mayOperate ? (
        <Button icon="pause" onClick={() => setPausing(true)}>
          Pause intake
        </Button>
      ) : null}
      {pausing ? <PauseIntake onClose={() => setPausing(false)} /> : null}
    </span>
  );
}

/** What is paused: the whole fleet, or one pool or project; sessions are accepted, wait, and say why. */
function PauseIntake({ onClose }: { onClose: () => void }): ReactNode {
  const [scope, setScope] = useState('fleet');
  const [note, setNote] = useState('');
  const servers = useServers();
  const queue = useQueue();
  const pause = useAct(
    () =>
      ask(
        api.PUT('/v1/intake/{scope}', {
          params: { path: { scope: scope.trim() } },
          body: note.trim() === '' ? {} : { note: note.trim() },
        }),
      ),
    [['intake']],
    onClose,
  );
  const known = [
    'fleet',
    ...new Set((servers.data ?? []).map(({ pool }) => `pool:${pool}`)),
    ...(queue.data?.projects ?? []).map(({ project }) => `project:${project}`),
  ];
  return (
    <FormDialog
      title="Pause intake"
      act={pause}
      submit={() => pause.mutate()}
      submitWord="Pause"
      ready={scope.trim() !== ''}
      onClose={onClose}
    >
      <p>New sessions are accepted and wait. What runs goes on.</p>
      <label className="field">
        <span>What takes no sessions</span>
        <input
          className="input"
          data-first
          list="intake-scopes"
          value={scope}
          onChange={(event) => setScope(event.target.value)}
        />
        <datalist id="intake-scopes">
          {known.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label className="field">
        <span>Why, for whoever looks</span>
        <input
          className="input"
          maxLength={1_000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
