/** The undo of each step of a start, run from the last to the first. */
export interface Unwinding {
  add(undo: () => Promise<void> | void): void;
  /** Runs every undo once, also when one of them fails; a second call waits for the first. */
  run(): Promise<void>;
}

/** Begins an empty unwinding. */
export function createUnwinding(): Unwinding {
  const steps: (() => Promise<void> | void)[] = [];
  const runAll = async () => {
    const failures: unknown[] = [];
    for (let undo = steps.pop(); undo !== undefined; undo = steps.pop()) {
      try {
        await undo();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, 'Some steps of the start could not be undone.');
  };
  let running: Promise<void> | undefined;
  return {
    add: (undo) => void steps.push(undo),
    run: () => (running ??= runAll()),
  };
}
