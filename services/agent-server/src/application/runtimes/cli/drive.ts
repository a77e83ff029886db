import { isPause } from '../../checkpoints/pause-wish.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import { paused } from '../runtime.ts';
import type { RuntimeEnd } from '../runtime.ts';
import { stays } from '../stays.ts';
import { isInterrupt } from '../turn-interrupt.ts';
import { listen, settles } from './listen.ts';
import type { News } from './listen.ts';
import { beginAnew, goOn } from './said-to-program.ts';
import type { GoOnCause } from './said-to-program.ts';
import { saveTalk } from './talk.ts';
import { cancelAll, startProgram } from './work.ts';
import type { CliWork, HeardProgram } from './work.ts';

/** A program that dies again and again while it works on the same words will not get better. */
const maxDeaths = 2;

/** An interrupted program that does not answer within so long is killed; its session files are what it knows. */
const interruptMs = 5000;

const stoppedByPause = 'This was stopped because the session was paused; it may have done part of its work.';
const askedAgain = 'The session was paused before this had begun; the program asks for it again.';
const interrupted = 'A person interrupted the turn.';

/** What the session stands at: a process or none, and what it is told next. */
interface Position {
  program: HeardProgram | null;
  /** What the next process or the next turn begins with; null: the person's message, once it is there. */
  next: GoOnCause | 'said' | null;
  deaths: number;
}

/** Turn by turn until the end; between two of them the program may end and another one go on from its files. */
export async function drive(work: CliWork): Promise<RuntimeEnd | typeof paused> {
  const { context, talk } = work;
  const position: Position = {
    program: null,
    next: context.checkpoints.resumed === null ? 'said' : 'elsewhere',
    deaths: 0,
  };
  try {
    for (;;) {
      if (talk.answered !== null) {
        const end = await awaitMessage(work, position, talk.answered);
        if (end !== null) return end;
        continue;
      }
      position.program ??= await startProgram(work);
      speak(work, position, position.program);
      const end = await after(work, position, position.program, await listen(work, position.program));
      if (end !== null) return end;
    }
  } finally {
    await kill(position);
  }
}

function speak({ talk, port, context }: CliWork, position: Position, program: HeardProgram): void {
  const { next } = position;
  port.forgive();
  const said = talk.messages === 0 ? talk.said : `${context.order.instruction}\n\n${talk.said}`;
  if (next === null || next === 'said') program.say(program.resumed || next === null ? talk.said : said);
  else program.say(program.resumed ? goOn(next, talk) : beginAnew(said, talk));
  talk.stopped = [];
  position.next = 'said';
}

/** What follows from the news of a turn; null: it goes on. */
async function after(
  work: CliWork,
  position: Position,
  program: HeardProgram,
  news: News,
): Promise<RuntimeEnd | typeof paused | null> {
  const { context, talk } = work;
  program.flush();
  switch (news.kind) {
    case 'over':
      // its last words come from a process that knows what this one has done
      await program.written?.();
      return work.ended;
    case 'answered': {
      if (news.end.reason === 'finished' && stays(context.order, talk)) talk.answered = news.end;
      else await leave(position);
      position.deaths = 0;
      return talk.answered === null ? news.end : null;
    }
    case 'died':
      return died(work, position, news.end);
    case 'interrupt':
      await interrupt(work, position, program);
      return null;
    case 'pause':
      return pause(work, position);
    case 'store':
      await program.written?.();
      await kill(position);
      work.storePoint.taken();
      await context.checkpoints.between(() => saveTalk(work.vendor.runtime, talk));
      position.next = 'stored';
      return null;
  }
}

async function died(
  work: CliWork,
  position: Position,
  { again, ...end }: RuntimeEnd & { readonly again: boolean },
): Promise<RuntimeEnd | null> {
  await kill(position);
  cancelAll(work, 'The program that made it has ended.');
  if (!again || position.deaths >= maxDeaths) return end;
  position.deaths += 1;
  position.next = 'died';
  const text = `${end.message.slice(0, 3000)} It is started again.`;
  work.context.sink.emit({ type: 'notice', text });
  return null;
}

/**
 * A person has interrupted: what was asked for and has not ended is canceled, nobody's rejection. The session then waits
 * for what its person says.
 */
async function interrupt(work: CliWork, position: Position, program: HeardProgram): Promise<void> {
  const { context, talk } = work;
  cancelAll(work, interrupted);
  program.interrupt();
  if ((await settles(work, program, interruptMs)) === null) await kill(position);
  context.signal.throwIfAborted();
  program.flush();
  cancelAll(work, interrupted);
  talk.interrupted = true;
  talk.answered = { reason: 'finished', message: '' };
  context.interrupt.take();
}

/** Puts the session away: what waits for a person goes on waiting, wherever it then is. */
async function pause(work: CliWork, position: Position): Promise<typeof paused | null> {
  const { context, talk, calls, hosted } = work;
  work.cutShort.now(context.checkpoints.wish.signal().reason);
  calls.park(stoppedByPause, askedAgain);
  hosted?.park(stoppedByPause, askedAgain);
  if (talk.answered === null) {
    // killed before, it would begin anew and not know what it has done
    await position.program?.written?.();
    await kill(position);
  } else await leave(position);
  const outcome = await context.checkpoints.pause(saveTalk(work.vendor.runtime, talk));
  position.next = 'stored';
  return outcome === 'paused' ? paused : null;
}

/** A session that stays waits for its person; the last answer is its end when nothing more comes. */
async function awaitMessage(
  work: CliWork,
  position: Position,
  answered: RuntimeEnd,
): Promise<RuntimeEnd | typeof paused | null> {
  const { context, talk } = work;
  const { checkpoints, sink } = context;
  if (checkpoints.due()) {
    await leave(position);
    await checkpoints.between(() => saveTalk(work.vendor.runtime, talk));
  }
  const { wish } = checkpoints;
  const signals = [context.signal, wish.signal(), wish.urgentSignal(), context.interrupt.signal()];
  const waiting = AbortSignal.any(signals);
  try {
    const told = sink.emit({ type: 'phase', phase: 'waiting' });
    // Whoever reads that the session waits for a message has to have the whole answer before.
    await sink.acknowledged(told, waiting);
    const message = await context.messages.next(talk.messages, waiting);
    if (message.kind === 'end') {
      await leave(position);
      const reason = asEndReason(message.reason);
      return reason === 'finished' ? answered : { reason, message: '' };
    }
    sink.emit({ type: 'phase', phase: 'working' });
    Object.assign(talk, { messages: message.number, said: message.text, answered: null });
    position.next = null;
    return null;
  } catch (error) {
    context.signal.throwIfAborted();
    if (isInterrupt(error)) {
      context.interrupt.take();
      return null;
    }
    if (!isPause(error)) throw error;
    return pause(work, position);
  }
}

async function leave(position: Position): Promise<void> {
  const { program } = position;
  position.program = null;
  await program?.cli.leave();
}

async function kill(position: Position): Promise<void> {
  const { program } = position;
  position.program = null;
  program?.cli.kill();
  await program?.cli.end;
}
