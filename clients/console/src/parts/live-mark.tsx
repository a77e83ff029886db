import type { ReactNode } from 'react';
import type { StreamState } from '../api/event-stream.ts';

const words: Readonly<Record<StreamState, readonly [text: string, look: string]>> = {
  connecting: ['Connecting', ''],
  live: ['Live', 'live-on'],
  waiting: ['Reconnecting', 'live-off'],
  ended: ['Ended', ''],
};

/** Whether what is shown follows what happens. */
export function LiveMark({ state }: { state: StreamState }): ReactNode {
  const [text, look] = words[state];
  return (
    <span className={`live ${look}`} role="status">
      <i aria-hidden="true" />
      {text}
    </span>
  );
}
