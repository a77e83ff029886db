import { readFile } from 'node:fs/promises';
import { readCanonical } from '@lemniscate/shared/audit/canonical.ts';
import { personPattern } from '@lemniscate/shared/audit/person.ts';
import type { StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { z } from 'zod';

/** Somebody who acted in what was walked. */
export interface ActingPerson {
  /** As the entries have it. */
  readonly person: string;
  /** By the directory; null where it was erased or nobody told. No part of what is proved. */
  readonly identity: string | null;
  readonly entries: number;
}

/** Counts who acted, and who they are. */
export interface ActingPeople {
  saw(entry: Pick<StoredEntry, 'body'>): void;
  named(people: Readonly<Record<string, string | null>>): void;
  list(): ActingPerson[];
}

export function createActingPeople(): ActingPeople {
  const counts = new Map<string, number>();
  const identities = new Map<string, string | null>();
  return {
    saw: ({ body }) => {
      const bytes = Buffer.from(body, 'base64');
      if (!bytes.includes('person:')) return;
      const envelope = readCanonical(bytes)?.value as { subject?: unknown } | null | undefined;
      const subject = envelope?.subject;
      if (typeof subject === 'string' && personPattern.test(subject))
        counts.set(subject, (counts.get(subject) ?? 0) + 1);
    },
    named: (people) => {
      for (const [person, identity] of Object.entries(people)) identities.set(person, identity);
    },
    list: () =>
      [...counts].map(([person, entries]) => ({
        person,
        identity: identities.get(person) ?? null,
        entries,
      })),
  };
}

/** The people that lie beside a sink's file; nobody where there are none. @throws CodedError `request_invalid` */
export async function readPeopleFile(path: string): Promise<Record<string, string>> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw new CodedError('request_invalid', `The file ${path} does not hold the people of a log.`, {}, error);
  }
}

const mostShown = 20;

/** Lines for a person: who acted how often. */
export function describePeople(people: readonly ActingPerson[]): string {
  const busiest = people.toSorted((one, other) => other.entries - one.entries);
  const lines = busiest.slice(0, mostShown).map(({ person, identity, entries }) => {
    const who =
      identity === null ? `${person} (nobody says who)` : `${makeVisibleLine(identity)} (${person})`;
    return `  ${entries} by ${who}\n`;
  });
  const more = busiest.length - lines.length;
  return `${lines.join('')}${more > 0 ? `  and ${more} more people\n` : ''}`;
}
