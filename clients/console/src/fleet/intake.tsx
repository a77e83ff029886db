import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { moment } from '../parts/format.ts';
import { Button } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';

/** Whether new sessions are placed at all, and the switch for it. */
export function Intake(): ReactNode {
  const mayOperate = useHasRole('operator', 'administrator');
  const paused = useQuery({
    queryKey: ['intake'],
    refetchInterval: 5_000,
    queryFn: () => ask(api.GET('/v1/intake')).then((answer) => answer.paused),
  });
  const change = useAct(
    ({ scope, pause }: { scope: string; pause: boolean }) =>
      pause
        ? ask(api.PUT('/v1/intake/{scope}', { params: { path: { scope } }, body: {} }))
        : ask(api.DELETE('/v1/intake/{scope}', { params: { path: { scope } } })),
    [['intake']],
  );
  const list = paused.data ?? [];
  if (list.length === 0)
    return mayOperate ? (
      <Button
        icon="pause"
        disabled={change.isPending}
        onClick={() => change.mutate({ scope: 'fleet', pause: true })}
      >
        Pause intake
      </Button>
    ) : null;
  return (
    <span className="row">
      {list.map((one) => (
        <span key={one.scope} className="row">
          <span className="badge amber" title={`${shownLine(one.pausedBy)}, ${moment(one.pausedAt)}`}>
            {one.scope} is paused{one.note === null ? '' : `: ${shownLine(one.note)}`}
          </span>
          {mayOperate ? (
            <Button
              disabled={change.isPending}
              onClick={() => change.mutate({ scope: one.scope, pause: false })}
              aria-label={`Resume ${one.scope}`}
            >
              Resume
            </Button>
          ) : null}
        </span>
      ))}
    </span>
  );
}
