import { Readable } from 'node:stream';
import type { PositionedEvent, SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';

/** Events that wait while a person is asked; more are left with the fleet. */
const mostAhead = 256;

/** The same events, read also while nobody takes them: `hear` is told of each as soon as it is there. */
export async function* readAhead(
  events: AsyncIterable<PositionedEvent>,
  hear: (event: SessionEvent) => void,
): AsyncGenerator<PositionedEvent> {
  async function* heard(): AsyncGenerator<PositionedEvent> {
    for await (const event of events) {
      hear(event.event);
      yield event;
    }
  }
  const ahead = Readable.from(heard(), { highWaterMark: mostAhead });
  for await (const event of ahead) yield event as PositionedEvent;
}
