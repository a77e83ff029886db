import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { hasLastWords } from '../last-words.ts';
import { paused } from '../runtime.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { createCutShort } from './cut-short.ts';
import { drive } from './drive.ts';
import { createHostedTools } from './hosted-tools.ts';
import { readMemory } from './inside-files.ts';
import { openModelPort } from './model-port.ts';
import type { VendorProgram } from './program.ts';
import { endOfRefusal } from './refused-exchange.ts';
import { createReportedCalls } from './reported-calls.ts';
import { sayLastWords } from './say-last-words.ts';
import { createStorePoint } from './store-point.ts';
import { beginTalk, restoreTalk } from './talk.ts';
import { createUsageClaim } from './usage-claim.ts';
import { cancelAll } from './work.ts';
import type { CliWork } from './work.ts';

/** A runtime whose loop a vendor's program drives, in the sandbox; what its vendors do alike is here. */
export function cliRuntime(vendor: VendorProgram): Runtime {
  return {
    run: async (context) => {
      const work = await prepare(vendor, context);
      const end = await drive(work)
        .catch(async (error: unknown): Promise<RuntimeEnd> => {
          const reason = context.stopped();
          // The decision that ends the session and the word to stop come at the same time; the decision says more.
          const ended = work.over.aborted ? await work.ended.catch(() => null) : null;
          if (ended !== null && ended.reason === reason) return ended;
          if (reason === null || !hasLastWords(context.order, reason)) throw error;
          const refusal = work.port.lastRefusal();
          if (refusal?.status === 402) return { ...endOfRefusal(refusal), reason };
          return { reason, message: isCodedError(error) ? error.message : '' };
        })
        .finally(() => cancelAll(work, closingWords(context)));
      if (end === paused) return paused;
      work.talk.waiting.cancelAll('The program did not ask for it again.');
      if (!hasLastWords(context.order, end.reason)) return end;
      const said = await sayLastWords(work);
      return { ...end, message: `${end.message}\n\n${said}`.trim() };
    },
  };
}

const closingWords = ({ signal }: RuntimeContext): string =>
  signal.aborted ? 'The session was interrupted.' : 'The session has ended.';

async function prepare(vendor: VendorProgram, context: RuntimeContext): Promise<CliWork> {
  const { checkpoints, order, sink } = context;
  const { resumed } = checkpoints;
  const talk = resumed === null ? beginTalk(order.instruction) : restoreTalk(vendor.runtime, resumed, sink);
  const cutShort = createCutShort(context);
  const hosted = order.cliTools === 'hosted' ? createHostedTools(context, talk, cutShort) : null;
  const calls = createReportedCalls(context, talk, cutShort);
  const busy = (): number => port.exchanges() + calls.open() + (hosted?.open() ?? 0);
  const storePoint = createStorePoint(context, busy);
  const over = new AbortController();
  const port = await openModelPort(context, {
    other: hosted?.handle,
    before: async () => {
      // A program that is about to be ended asks nothing more: the last exchange is for the session's last words.
      if (!storePoint.closed() && (over.signal.aborted || context.signal.aborted)) return false;
      return storePoint.before();
    },
  });
  const ended = Promise.race([calls.ended, ...(hosted === null ? [] : [hosted.ended])]);
  ended.then(
    () => over.abort(),
    () => over.abort(),
  );
  const memory = await readMemory(context, vendor.memoryFiles);
  const usage = createUsageClaim(sink);
  return {
    vendor,
    context,
    talk,
    cutShort,
    hosted,
    calls,
    storePoint,
    port,
    ended,
    over: over.signal,
    memory,
    usage,
  };
}
