import { ask } from '@lemniscate/api/client.ts';
import type { CreateSession, SessionView } from '@lemniscate/shared/api/session.ts';
import type { SessionEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { verifySessionChain } from '../audit-check.ts';
import { readAttachments } from '../attachments.ts';
import { announceBounds, readBounds } from '../bounds.ts';
import { readExecution } from '../execution.ts';
import { showDiffFiles, showPatch } from '../follow/diff-view.ts';
import { followSession } from '../follow/event-stream.ts';
import type { KeyActions } from '../follow/keys.ts';
import { personAt } from '../follow/person.ts';
import { readAhead } from '../follow/read-ahead.ts';
import { createLiveScreen, createPlainScreen } from '../follow/screen.ts';
import type { Screen } from '../follow/screen.ts';
import { findQuestion, isQuestion, settles } from '../follow/session-question.ts';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { openSession } from '../open-session.ts';
import { patienceMs, patiently } from '../patience.ts';
import { inspectRepository } from '../repository/inspect.ts';
import { summarise } from '../session-summary.ts';
import { startWorkstation } from '../workstation.ts';
import type { Workstation } from '../workstation.ts';
import { connectFleet, printJson } from './context.ts';
import { quoteForShell } from '../shell-word.ts';
import { readPatch } from './diff-decision.ts';

export interface RunOptions {
  readonly repo: string;
  readonly attach?: readonly string[];
  readonly project?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly runtime?: string;
  readonly nonInteractive?: boolean;
  readonly stay?: boolean;
  readonly json?: boolean;
}

/**
 * Follows a session to its end, asks what has to be asked, and shows everything on `out`.
 * @returns the ended session
 */
export async function attend(
  client: ApiClient,
  session: SessionView,
  io: CommandIo,
  options: { readonly out: CommandIo['stdout']; readonly interactive: boolean },
): Promise<SessionView> {
  const { id: sessionId } = session;
  const told = createTold(client, sessionId, io.signal, (text) => screen.note(text));
  const screen = options.interactive
    ? createLiveScreen(io, session, told.actions, () => performance.now())
    : createPlainScreen(options.out, { colour: io.colour, foldFor: sessionId });
  const events = followSession(client, {
    sessionId,
    after: 0,
    signal: io.signal,
    patienceMs,
    onInterruption: () => screen.note('! the fleet is away; going on as soon as it answers'),
  });
  let open: { readonly event: SessionEvent; readonly withdrawn: AbortController } | null = null;
  const hear = (event: SessionEvent): void => {
    if (open !== null && settles(event, open.event)) open.withdrawn.abort();
  };
  try {
    for await (const event of readAhead(events, hear)) {
      screen.show(event);
      told.rethrow();
      if (!options.interactive || !isQuestion(event.event)) continue;
      const withdrawn = new AbortController();
      open = { event: event.event, withdrawn };
      await putQuestion(client, sessionId, event.event, { io, screen, withdrawn, actions: told.actions });
      open = null;
    }
  } finally {
    screen.end();
  }
  return ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id: sessionId } } }));
}

/**
 * What single keys ask of the fleet; through a restart it is asked until it is heard. A request that failed is thrown
 * where the session is followed.
 */
function createTold(client: ApiClient, sessionId: string, signal: AbortSignal, note: (text: string) => void) {
  let failure: unknown;
  const params = { path: { id: sessionId } };
  const say = {
    stop: () => ask(client.api.POST('/v1/sessions/{id}/stop', { params })),
    interrupt: () => ask(client.api.POST('/v1/sessions/{id}/interrupt', { params })),
  };
  const tell = (what: keyof typeof say): void => {
    const onAway = (): void => note(`! the fleet is away; it is told to ${what} as soon as it is back`);
    patiently<unknown>(say[what], { signal, onAway }).catch((error: unknown) => {
      if (signal.aborted || isCodedError(error, 'session_ended')) return;
      // What cannot be interrupted is stopped: Ctrl-C must never do nothing.
      if (isCodedError(error, 'conflict') && what === 'interrupt') tell('stop');
      else failure ??= error;
    });
  };
  return {
    actions: { stop: () => tell('stop'), interrupt: () => tell('interrupt') },
    rethrow: () => {
      if (failure !== undefined) throw failure;
    },
  };
}

interface Asking {
  readonly io: CommandIo;
  readonly screen: Screen;
  readonly withdrawn: AbortController;
  readonly actions: KeyActions;
}

/** Puts a question to the person in front of the terminal, and sees the answer taken: also through a restart. */
async function putQuestion(
  client: ApiClient,
  sessionId: string,
  event: SessionEvent,
  { io, screen, withdrawn, actions }: Asking,
): Promise<void> {
  const waiting = {
    signal: io.signal,
    onAway: () => screen.note('! the fleet is away; your answer is sent as soon as it is back'),
  };
  const { result: question } = await patiently(() => findQuestion(client, sessionId, event), waiting);
  if (question === null) return;
  const outcome = await screen.aside(() => question(personAt(io, withdrawn.signal)));
  if (outcome === 'left') actions.interrupt();
  else if (outcome === 'stop') actions.stop();
  else if (outcome === 'withdrawn') screen.note('! It was decided elsewhere; nothing is asked any more.');
  else {
    const { result, failures } = await patiently(outcome.answer, waiting);
    // After a failure the first answer may be the one that was taken.
    if (result === 'too_late' && failures === 0)
      screen.note('! It was decided meanwhile; this answer did not count.');
  }
}

/** One gesture: Ctrl-C stops the session, and with it its sandbox and whatever was not approved. */
async function stopSession(client: ApiClient, sessionId: string, io: CommandIo): Promise<SessionView> {
  io.stderr.write('\nStopping the session…\n');
  return ask(client.api.POST('/v1/sessions/{id}/stop', { params: { path: { id: sessionId } } }));
}

async function run(instruction: string, options: RunOptions, io: CommandIo): Promise<void> {
  const attached = await readAttachments(options.attach ?? []);
  // A wrong folder is told at once, not after a sandbox was made for it.
  await inspectRepository(options.repo);
  await runSession(io, options, async (client, order) => {
    const { session, repository, dirty } = await openSession(
      client,
      { ...order, instruction: `${instruction}${attached}`, repositoryFolder: options.repo },
      io.signal,
    );
    return {
      session,
      folder: repository.folder,
      note: dirty ? ', with its uncommitted changes' : '',
    };
  });
}

/** What a run opens its session with, besides instruction and repository. */
type Order = Omit<CreateSession, 'instruction' | 'repository'>;

interface Opened {
  readonly session: SessionView;
  readonly folder: string;
  readonly note: string;
}

/**
 * Opens a session where `LEMNISCATE_AGENT_EXECUTION` says, follows it to its end and reports it; the process' exit code
 * is the session's.
 */
export async function runSession(
  io: CommandIo,
  options: Omit<RunOptions, 'repo' | 'attach'>,
  open: (client: ApiClient, order: Order) => Promise<Opened>,
): Promise<void> {
  const execution = readExecution(io.env);
  const bounds = readBounds(io.env);
  const client = await connectFleet(io);
  const out = options.json === true ? io.stderr : io.stdout;
  const interactive = io.interactive && options.nonInteractive !== true && options.json !== true;
  if (execution === 'workstation') out.write('making a sandbox on this machine\n');
  let workstation: Workstation | null = null;
  let opened: Opened | null = null;
  try {
    if (execution === 'workstation') workstation = await startWorkstation(client, io.env, io.signal);
    opened = await open(client, {
      surface: 'terminal',
      interactive,
      execution,
      bounds,
      followUps: interactive && options.stay === true,
      ...(options.project === undefined ? {} : { project: options.project }),
      ...(options.agent === undefined ? {} : { agent: options.agent }),
      ...(options.model === undefined ? {} : { model: options.model }),
      ...(options.runtime === undefined ? {} : { runtime: options.runtime }),
      ...(workstation === null ? {} : { server: workstation.serverId }),
    });
    out.write(`session ${opened.session.id} on ${opened.folder}${opened.note}\n`);
    out.write(`model ${opened.session.model}, execution ${opened.session.execution}\n`);
    for (const sentence of announceBounds(bounds)) out.write(`${sentence}\n`);
    let session: SessionView;
    try {
      session = await attend(client, opened.session, io, { out, interactive });
    } catch (error) {
      if (!io.signal.aborted) throw error;
      session = await stopSession(client, opened.session.id, io);
    }
    await report(client, session, opened.folder, io, options.json === true);
    io.setExitCode(session.exitCode ?? exitCodes.failed);
  } catch (error) {
    // Words for the person who sees nothing but their own ^C.
    if (io.signal.aborted && opened === null) io.stderr.write('\nInterrupted; no session was opened.\n');
    throw error;
  } finally {
    await workstation?.stop();
  }
}

async function report(
  client: ApiClient,
  session: SessionView,
  folder: string,
  io: CommandIo,
  json: boolean,
): Promise<void> {
  const audit = await verifySessionChain(client, session.id);
  if (json) {
    const { toolCalls } = await ask(
      client.api.GET('/v1/sessions/{id}/tool-calls', { params: { path: { id: session.id } } }),
    );
    return printJson(io, summarise(session, toolCalls, audit, folder));
  }
  const { stdout } = io;
  stdout.write('\n');
  if (session.diff !== null && session.diff.state === 'offered' && session.diff.files.length > 0) {
    showPatch(stdout, Buffer.from(await readPatch(client, session.id)).toString('utf8'), io.colour);
    showDiffFiles(stdout, session.diff.files, io.colour);
    stdout.write(
      `\nApply it to your working tree: npx lemniscate apply ${session.id} --repo ${quoteForShell(folder)}\nOr some files of it: add --file PATH or --except PATH. Or refuse it: npx lemniscate reject ${session.id}\n`,
    );
  } else stdout.write('No file was changed.\n');
  const { usage } = session;
  stdout.write(
    `${session.state} (${session.reason ?? 'no reason'}) · ${usage.inputTokens} in, ${usage.outputTokens} out, ${usage.cacheReadTokens} cache read, ${usage.cacheWriteTokens} cache write · ${session.priced ? `$${session.totalCostUsd}` : 'unpriced'} · audit ${audit.entries} entries, ${audit.verified ? 'verified' : 'NOT VERIFIED'}\n`,
  );
  return undefined;
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** `lemniscate run "…"`. */
export function registerRun(program: Command, io: CommandIo): void {
  program
    .command('run')
    .description(
      'Opens a session on a local git repository, uncommitted changes included, and follows it to its end.',
    )
    .argument('<instruction>', 'what the agent should do')
    .option('--repo <folder>', 'the repository', '.')
    .option('--attach <file>', 'a text file that the agent reads with the instruction (repeatable)', collect)
    .option('--project <name>', 'the project whose policy and budgets apply')
    .option('--agent <name>', 'the agent that works')
    .option('--model <id>', 'the model')
    .option('--runtime <name>', 'who drives the loop')
    .option('--non-interactive', 'nobody can be asked: what needs an approval is refused')
    .option('--stay', 'stays open for further messages when it has answered')
    .option('--json', 'one JSON object at the end on stdout, all else on stderr')
    .addHelpText(
      'after',
      `
Where the sandbox runs: LEMNISCATE_AGENT_EXECUTION=server uses the fleet's servers; "workstation", or nothing,
uses this machine. Exit codes: 0 finished, 1 failed, 2 usage, 3 a budget ran out, 4 revoked, 130 stopped.

Examples:
  $ lemniscate run "fix the failing test"
  $ lemniscate run "add a --version flag" --repo ../tool --json
  $ lemniscate run "make this pass" --attach build.log

In a terminal: s stops the session at any time, Ctrl-X does so also while you type, Ctrl-C interrupts what the agent
does and asks what next.
A question is answered by one key: y yes, a yes whenever it is exactly this, n no, m no with a message, s stop.`,
    )
    .action((instruction: string, options: RunOptions) => run(instruction, options, io));
}
