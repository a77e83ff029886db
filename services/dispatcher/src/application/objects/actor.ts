import type { Person } from '../identity.ts';

/** Who does something to an object. */
export interface Actor {
  readonly kind: 'person' | 'agent' | 'external';
  /** A directory's subject, an agent's id, or `source:account` of a system outside. */
  readonly id: string;
  /** Of an agent: the session in which it acts. */
  readonly session?: string;
  /** How deep in a chain of sessions that start each other; 0: a person began it. */
  readonly depth?: number;
  /** Whose rights count: the person, the owner of the agent's session, the member behind an outside account. */
  readonly member: string | null;
}

export const personActor = ({ subject }: Person): Actor => ({ kind: 'person', id: subject, member: subject });

/** How the audit log names the actor. An agent is no person: its name needs no pseudonym. */
export const auditSubject = (actor: Actor, self: string): string => {
  if (actor.kind === 'agent') return `spiffe://lemniscate/agent/${actor.id}`;
  return actor.member ?? self;
};

/** What an entry's body tells of who acted beside its subject. */
export const auditActor = (actor: Actor): Record<string, string> => ({
  actorKind: actor.kind,
  ...(actor.kind === 'agent' ? { agent: actor.id } : {}),
  ...(actor.session === undefined ? {} : { session: actor.session }),
});
