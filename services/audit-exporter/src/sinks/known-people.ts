import { readCanonical } from '@lemniscate/shared/audit/canonical.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';

/** What a batch tells of people: who they are, and who is to be forgotten. */
export interface ToldPeople {
  readonly named: ReadonlyMap<string, string>;
  readonly erased: readonly string[];
}

/**
 * For sinks that keep entries for ever: identities lie beside them, one erasable piece a person, never in them. An
 * entry `person.erased` is the order to erase it here too.
 */
export function peopleToldIn(batch: readonly IndexedEntry[]): ToldPeople {
  const named = new Map(batch.flatMap(({ people }) => [...(people ?? [])]));
  const erased = batch.flatMap(({ entry }) => (entry.type === 'person.erased' ? personIn(entry.body) : []));
  for (const pseudonym of erased) named.delete(pseudonym);
  return { named, erased };
}

function personIn(bytes: Uint8Array): string[] {
  const envelope = readCanonical(bytes)?.value as { body?: { person?: unknown } } | null | undefined;
  const person = envelope?.body?.person;
  return typeof person === 'string' ? [person] : [];
}
