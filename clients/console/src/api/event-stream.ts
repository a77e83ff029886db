/** Whether a stream brings what happens now. */
export type StreamState = 'connecting' | 'live' | 'waiting' | 'ended';

export interface StreamOptions {
  /** Where to read from, given the id of the last message that was taken; null at the beginning. */
  readonly address: (lastId: string | null) => string;
  /** Name of the messages. */
  readonly event: string;
  readonly onMessage: (data: unknown, id: string) => void;
  readonly onState: (state: StreamState) => void;
}

const firstWaitMs = 500;
const longestWaitMs = 10_000;

/**
 * Follows a stream of server-sent events for as long as the page is looked at, and goes on where it was: after a cut,
 * after a restart of the dispatcher, and when a hidden tab is shown again. Hidden tabs hold no connection, since a
 * browser gives one host only six of them.
 * @returns how to stop
 */
export function followStream(options: StreamOptions): () => void {
  let source: EventSource | null = null;
  let lastId: string | null = null;
  let waitMs = firstWaitMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;

  const close = (): void => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const open = (): void => {
    close();
    if (over || document.hidden) return;
    options.onState('connecting');
    source = new EventSource(options.address(lastId));
    source.addEventListener('open', () => {
      waitMs = firstWaitMs;
      options.onState('live');
    });
    source.addEventListener(options.event, (message: MessageEvent<string>) => {
      lastId = message.lastEventId === '' ? lastId : message.lastEventId;
      options.onMessage(JSON.parse(message.data), message.lastEventId);
    });
    source.addEventListener('end', () => {
      over = true;
      close();
      options.onState('ended');
    });
    source.addEventListener('error', () => {
      options.onState('waiting');
      // The browser comes back by itself after a cut, but not after an answer that is no stream.
      if (source?.readyState !== EventSource.CLOSED) return;
      close();
      timer = setTimeout(open, waitMs);
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    });
  };
  const showOrHide = (): void => {
    if (over) return;
    if (document.hidden) close();
    else if (source === null) open();
  };
  document.addEventListener('visibilitychange', showOrHide);
  open();
  return () => {
    over = true;
    document.removeEventListener('visibilitychange', showOrHide);
    close();
  };
}
