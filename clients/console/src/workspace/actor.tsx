import type { ReactNode } from 'react';
import { Badge } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { personName } from '../sessions/sessions-page.tsx';

/** Who did something; agents are never mistaken for people. */
export function Actor({
  actor,
}: {
  actor: { readonly kind: string; readonly id: string } | null;
}): ReactNode {
  if (actor === null) return <span className="faint">nobody</span>;
  const name = actor.kind === 'person' ? personName(actor.id) : actor.id;
  return (
    <span title={shownLine(`${actor.kind} ${actor.id}`)}>
      {shownLine(name)}
      {actor.kind === 'person' ? null : (
        <>
          {' '}
          <Badge tone={actor.kind === 'agent' ? 'violet' : 'grey'}>{actor.kind}</Badge>
        </>
      )}
    </span>
  );
}
