import { open, readFile, writeFile } from 'node:fs/promises';
import { jsonValueSchema } from '@lemniscate/shared/json.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { AuditVerifyIo } from './audit-verify.ts';

/** What asks the fleet, or what has been asked. */
export type Answers = Pick<AuditVerifyIo, 'fetchJson'>;

const format = 'lemniscate.audit.evidence/1';
const headSchema = z.object({ format: z.literal(format), session: z.string().min(1) });
/** An answer as it came; null: the fleet had none. Nothing of it is believed when it is read. */
const answerSchema = z.object({ path: z.string(), answer: jsonValueSchema });

/** Evidence of one session: what its verification asked the fleet, for somebody without it to verify again. */
export interface Evidence {
  readonly session: string;
  readonly answers: Answers;
}

/** Asks the fleet and keeps what it answers. */
export function recordAnswers(fleet: Answers, session: string): { answers: Answers; text(): string } {
  const lines = [JSON.stringify({ format, session })];
  const keep = (path: string, answer: unknown): void =>
    void lines.push(JSON.stringify({ path, answer } satisfies { path: string; answer: unknown }));
  return {
    answers: {
      fetchJson: async (path, schema) => {
        try {
          const answer = await fleet.fetchJson(path, schema);
          keep(path, answer);
          return answer;
        } catch (error) {
          if (isCodedError(error, 'not_found')) keep(path, null);
          throw error;
        }
      },
    },
    text: () => `${lines.join('\n')}\n`,
  };
}

/** Reads evidence; null for a file that is something else. @throws CodedError `not_found`, `request_invalid` */
export async function openEvidence(path: string): Promise<Evidence | null> {
  if (!(await startsLikeEvidence(path))) return null;
  const [first = '', ...rest] = (await readFile(path, 'utf8')).split('\n').slice(0, -1);
  const { session } = headSchema.parse(JSON.parse(first));
  const answers = new Map(rest.map((line, place) => readAnswer(line, `${path} line ${place + 2}`)));
  return {
    session,
    answers: {
      fetchJson: (asked, schema) => {
        const answer = answers.get(asked);
        if (answer === undefined) return Promise.reject(nothingOf(asked));
        if (answer === null)
          return Promise.reject(new CodedError('not_found', `The fleet had no answer to ${asked}.`));
        const parsed = schema.safeParse(answer);
        return parsed.success
          ? Promise.resolve(parsed.data)
          : Promise.reject(
              new CodedError('request_invalid', `${path} has no answer to ${asked} that can be read.`),
            );
      },
    },
  };
}

/** The first bytes alone: an export of the whole log can be large. */
async function startsLikeEvidence(path: string): Promise<boolean> {
  // whoever reads it as an export says why it does not open
  const handle = await open(path).catch(() => null);
  if (handle === null) return false;
  try {
    const begin = `{"format":"${format}"`;
    // a folder opens and does not read: it is a copy of a bucket
    const { buffer, bytesRead } = await handle
      .read(Buffer.alloc(begin.length), 0, begin.length, 0)
      .catch(() => ({ buffer: Buffer.alloc(0), bytesRead: 0 }));
    return buffer.toString('utf8', 0, bytesRead) === begin;
  } finally {
    await handle.close();
  }
}

function readAnswer(line: string, place: string): readonly [string, unknown] {
  try {
    const { path, answer } = answerSchema.parse(JSON.parse(line));
    return [path, answer];
  } catch (error) {
    throw new CodedError('request_invalid', `${place} is no answer of a fleet.`, {}, error);
  }
}

const nothingOf = (asked: string): CodedError =>
  new CodedError(
    'request_invalid',
    asked.startsWith('/v1/audit/proofs/consistency')
      ? 'This evidence does not say how the log grew from that anchor. Ask the fleet for evidence with the same --from.'
      : `This evidence has no answer to ${asked}, which its verification needs. Ask the fleet for it again.`,
  );

/** @throws CodedError `conflict` where the file is there already */
export async function writeEvidence(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new CodedError(
      'conflict',
      `${path} cannot be written; evidence never replaces a file.`,
      { path },
      error,
    );
  }
}
