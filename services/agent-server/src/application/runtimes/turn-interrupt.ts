/** Why commands and exchanges are cut short when a person interrupts what the agent does. */
class Interrupt extends Error {
  constructor() {
    super('A person has interrupted the turn.');
    this.name = 'Interrupt';
  }
}

/** Whether something was cut short by a person's interrupt. */
export function isInterrupt(error: unknown): boolean {
  return error instanceof Interrupt;
}

/** A person's wish that the agent leaves what it is at and listens. The session itself goes on. */
export interface TurnInterrupt {
  ask(): void;
  /** Aborted, with a reason for which `isInterrupt` is true, while the wish stands. */
  signal(): AbortSignal;
  /** The turn has ended; the next one is not disturbed. */
  take(): void;
}

export function createTurnInterrupt(): TurnInterrupt {
  let wish = new AbortController();
  return {
    ask: () => wish.abort(new Interrupt()),
    signal: () => wish.signal,
    take: () => {
      wish = new AbortController();
    },
  };
}
