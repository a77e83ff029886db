import type { ServerResponse } from 'node:http';

/** Answers that are still open, by their person, so that a revocation also ends what was let in before it. */
export interface OpenAnswers {
  add(subject: string, raw: ServerResponse): void;
  subjects(): string[];
  /** Breaks every open answer of the person. */
  cut(subject: string): void;
}

export function createOpenAnswers(): OpenAnswers {
  const bySubject = new Map<string, Set<ServerResponse>>();
  return {
    add: (subject, raw) => {
      const answers = bySubject.get(subject) ?? new Set();
      bySubject.set(subject, answers.add(raw));
      raw.once('close', () => {
        answers.delete(raw);
        if (answers.size === 0 && bySubject.get(subject) === answers) bySubject.delete(subject);
      });
    },
    subjects: () => [...bySubject.keys()],
    cut: (subject) => {
      for (const raw of bySubject.get(subject) ?? []) raw.destroy();
    },
  };
}
