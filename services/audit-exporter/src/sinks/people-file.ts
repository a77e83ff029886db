import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ToldPeople } from './known-people.ts';

const peopleSchema = z.record(z.string(), z.string());

/** One JSON object beside a file of entries: pseudonym to identity. */
export interface PeopleFile {
  /** @throws CodedError `conflict` when the file is something else */
  open(): Promise<void>;
  /** Synced when it resolves; nothing is written where nothing is new. */
  learn(told: ToldPeople): Promise<void>;
}

/** Written whole and put in place by a rename: a reader finds the old or the new one, and what was erased is gone. */
export function createPeopleFile(place: string): PeopleFile {
  const people = new Map<string, string>();
  return {
    open: async () => {
      people.clear();
      for (const [pseudonym, identity] of Object.entries(await readPeople(place)))
        people.set(pseudonym, identity);
    },
    learn: async ({ named, erased }) => {
      const fresh = [...named].filter(([pseudonym, identity]) => people.get(pseudonym) !== identity);
      const gone = erased.filter((pseudonym) => people.has(pseudonym));
      if (fresh.length === 0 && gone.length === 0) return;
      for (const [pseudonym, identity] of fresh) people.set(pseudonym, identity);
      for (const pseudonym of gone) people.delete(pseudonym);
      await replace(place, `${JSON.stringify(Object.fromEntries(people), null, 1)}\n`);
    },
  };
}

async function readPeople(place: string): Promise<Readonly<Record<string, string>>> {
  let text: string;
  try {
    text = await readFile(place, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  try {
    return peopleSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CodedError(
      'conflict',
      `The file ${place} does not hold the people of an audit log, so it is left as it is. Move it away.`,
      { place },
      error,
    );
  }
}

async function replace(place: string, text: string): Promise<void> {
  const draft = `${place}.new`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, place);
  const folder = await open(dirname(place), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
