import { useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { isApiError } from '../api/client.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isFault: boolean;
}

const shownMs = 6_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Tells the person what happened, in a corner, for some seconds. */
export function toast(text: string, isFault = false): void {
  const id = nextId++;
  change([...toasts.slice(-3), { id, text, isFault }]);
  setTimeout(() => change(toasts.filter((one) => one.id !== id)), shownMs);
}

/** Tells a failure in the API's words. */
export function toastError(error: unknown): void {
  toast(isApiError(error) ? error.problem.detail : String(error), true);
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((one) => (
        <div key={one.id} className={one.isFault ? 'toast red' : 'toast'}>
          {one.text}
        </div>
      ))}
    </div>
  );
}
