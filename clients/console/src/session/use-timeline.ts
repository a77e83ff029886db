import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { followStream } from '../api/event-stream.ts';
import type { StreamState } from '../api/event-stream.ts';
import { createTimeline } from './timeline.ts';
import type { Timeline } from './timeline.ts';

/** What else of a session is read anew when an event of the type comes. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  state: ['session'],
  phase: ['session'],
  usage: ['session'],
  diff: ['session', 'diff'],
  message: ['session'],
  extension: ['session', 'extensions'],
};
const rereadMs = 400;

/** A session's events, from the first one on and live. Events come faster than screens: one drawing takes them all. */
export function useTimeline(sessionId: string): { timeline: Timeline; version: number; stream: StreamState } {
  const queries = useQueryClient();
  const [timeline] = useState(createTimeline);
  const [version, setVersion] = useState(0);
  const [stream, setStream] = useState<StreamState>('connecting');
  useEffect(() => {
    let drawing = 0;
    let rereading: ReturnType<typeof setTimeout> | undefined;
    const stale = new Set<string>();
    const reread = (): void => {
      rereading = undefined;
      for (const name of stale) void queries.invalidateQueries({ queryKey: [name, sessionId] });
      stale.clear();
    };
    const stop = followStream({
      address: () => `/v1/sessions/${encodeURIComponent(sessionId)}/events?after=${timeline.position}`,
      event: 'session',
      onState: setStream,
      onMessage: (data) => {
        const event = data as PositionedEvent;
        timeline.push(event);
        for (const name of changedBy[event.event.type] ?? []) stale.add(name);
        if (stale.size > 0) rereading ??= setTimeout(reread, rereadMs);
        drawing ||= requestAnimationFrame(() => {
          drawing = 0;
          setVersion((now) => now + 1);
        });
      },
    });
    return () => {
      stop();
      cancelAnimationFrame(drawing);
      clearTimeout(rereading);
    };
  }, [queries, sessionId, timeline]);
  return { timeline, version, stream };
}
