import { useState } from 'react';
import type { ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { plural } from '../parts/format.ts';
import { Button } from '../parts/parts.tsx';
import { toast } from '../parts/toasts.tsx';

const words = 'stop everything';

/** The switch that one hopes never to need: ends every session and lets none start. Administrators alone see it. */
export function StopEverything(): ReactNode {
  const isAdministrator = useHasRole('administrator');
  const [asking, setAsking] = useState(false);
  if (!isAdministrator) return null;
  return (
    <>
      <Button look="danger" icon="stop" onClick={() => setAsking(true)}>
        Stop everything
      </Button>
      {asking ? <Ask onClose={() => setAsking(false)} /> : null}
    </>
  );
}

function Ask({ onClose }: { onClose: () => void }): ReactNode {
  const [confirm, setConfirm] = useState('');
  const [note, setNote] = useState('');
  const stop = useAct(
    () =>
      ask(
        api.POST('/v1/fleet/stop', {
          body: { confirm, ...(note.trim() === '' ? {} : { note: note.trim() }) },
        }),
      ),
    [['intake'], ['fleet'], ['servers']],
    ({ sessionsEnded }) => {
      toast(`${plural(sessionsEnded, 'session')} ended. Intake is paused until somebody resumes it.`);
      onClose();
    },
  );
  return (
    <FormDialog
      title="Stop everything"
      act={stop}
      submit={() => stop.mutate()}
      submitWord="Stop every session"
      look="danger-solid"
      ready={confirm === words}
      onClose={onClose}
    >
      <p>
        Ends every session of the fleet at once, throws away what they have not handed in, and lets none start
        until intake is resumed. It is in the audit log under your name.
      </p>
      <label className="field">
        <span>What the people whose sessions end are told</span>
        <input
          className="input"
          maxLength={1_000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Write “{words}” to confirm</span>
        <input
          className="input"
          data-first
          value={confirm}
          onChange={(event) => setConfirm(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
