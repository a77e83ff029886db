import { useEffect, useRef, useState } from 'react';
import type { RefObject } from 'react';

/**
 * What is wider or higher than its place scrolls there, and then has to be reachable by the keyboard (axe:
 * scrollable-region-focusable); what fits is no stop on anybody's way.
 */
export function useTabStop<Region extends HTMLElement>(): {
  readonly ref: RefObject<Region | null>;
  readonly tabIndex: 0 | undefined;
} {
  const ref = useRef<Region>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const region = ref.current;
    if (region === null) return undefined;
    const look = (): void =>
      setScrolls(region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight);
    const watched = new ResizeObserver(look);
    watched.observe(region);
    // its contents grow without it: rows that arrive
    const grown = new MutationObserver(look);
    grown.observe(region, { childList: true, subtree: true });
    return () => {
      watched.disconnect();
      grown.disconnect();
    };
  }, []);
  return { ref, tabIndex: scrolls ? 0 : undefined };
}
