import { useEffect, useLayoutEffect, useRef } from 'react';

/** Keys, or two after each other as in `g s`, and what they do. */
export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Name of the key that goes with others on this machine. */
export const modKey = /mac|iphone|ipad/i.test(navigator.userAgent) ? '⌘' : 'Ctrl';

const pairMs = 1_000;
let first: { readonly key: string; readonly at: number } | null = null;

/** Whether the key belongs to what the person is writing in. */
function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

function keyOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? 'mod+' : '';
  return `${mod}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
}

/** Listens while the caller is shown. Keys are left alone while somebody writes or a dialog is open. */
export function useShortcuts(shortcuts: Shortcuts, enabled = true): void {
  const current = useRef(shortcuts);
  useLayoutEffect(() => {
    current.current = shortcuts;
  });
  useEffect(() => {
    if (!enabled) return undefined;
    const listen = (event: KeyboardEvent): void => {
      const key = keyOf(event);
      const always = key.startsWith('mod+');
      if (event.defaultPrevented || event.altKey) return;
      if (!always && (isWriting(event.target) || document.querySelector('dialog[open]') !== null)) return;
      const pair = first !== null && Date.now() - first.at < pairMs ? `${first.key} ${key}` : null;
      const run = (pair === null ? undefined : current.current[pair]) ?? current.current[key];
      if (run === undefined) return;
      event.preventDefault();
      run(event);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, [enabled]);
}

/** Remembers the last key for pairs; once in the whole page. */
export function rememberKeys(): void {
  window.addEventListener('keydown', (event) => {
    // After all other listeners, so that a pair's second key finds the first.
    queueMicrotask(() => {
      first = isWriting(event.target) ? null : { key: keyOf(event), at: Date.now() };
    });
  });
}
