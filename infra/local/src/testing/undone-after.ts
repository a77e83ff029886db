import { after } from 'node:test';

/**
 * Holds what a file's `before` starts, and undoes it after the file's tests, the latest first: also what was begun when a
 * later step failed, and the rest when one undoing fails. What stays open keeps the process of the tests running.
 */
export function undoneAfterTests(): AsyncDisposableStack {
  const undo = new AsyncDisposableStack();
  after(() => undo.disposeAsync());
  return undo;
}
