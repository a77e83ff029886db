import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { forgetProcess, recordProcess, signalGroup } from './leftovers.ts';
import { launcherArguments } from './launcher.ts';
import type { Launch } from './launcher.ts';
import { openRotatingLog } from './rotating-log.ts';

/** What to run, and how it ends. */
export interface ProcessPlan extends Launch {
  readonly name: string;
  readonly args: readonly string[];
  /** The whole environment of the child: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Folder of pid records. */
  readonly records: string;
  /** Signal that asks it to stop in order. */
  readonly stopSignal: NodeJS.Signals;
  /** How long it may take to stop before it is killed, in milliseconds. */
  readonly stopGraceMs: number;
  /** What tells that it serves: a line of its output, or a question that is asked until the answer is yes. */
  readonly ready: { readonly line: (line: string) => boolean } | { readonly probe: () => Promise<boolean> };
  /** How long it may take until then, in milliseconds. */
  readonly readyWithinMs: number;
  /** Ends that wait early: nobody needs it any more. */
  readonly unwanted?: AbortSignal;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child that cannot outlive us. */
export interface ManagedProcess {
  readonly name: string;
  readonly pid: number;
  /** Settles at the end of the process, whoever ended it; never rejects. */
  readonly ended: Promise<ProcessEnd>;
  lastLines(): readonly string[];
  /** Asks, waits, kills; resolves when it is gone. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts a process and waits until it says that it serves. It runs in a session of its own, so that Ctrl-C reaches
 * us alone and the stop is ordered, and under `setpriv --pdeathsig`, so that our `kill -9` ends it too.
 * @throws CodedError `service_unreachable` with its last lines when it ends or says nothing in time; it is gone then
 */
export async function startProcess(plan: ProcessPlan): Promise<ManagedProcess> {
  const log = openRotatingLog(plan.logFile);
  const child = spawn('setpriv', [...launcherArguments(plan), plan.command, ...plan.args], {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    // the input stays open as long as we live: a service that watches it stops in order when we die
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<ProcessEnd>((settle) => {
    child.once('error', (error) => {
      log.write(`${plan.name}: ${error.message}\n`);
      settle({ code: null, signal: null });
    });
    child.once('close', (code, signal) => settle({ code, signal }));
  });
  const ready = Promise.withResolvers<'ready'>();
  const onLine = (line: string) => {
    if ('line' in plan.ready && plan.ready.line(line)) ready.resolve('ready');
  };
  child.stdin.on('error', (error) => log.write(`${plan.name}: input: ${error.message}\n`));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', log.write);
    if ('line' in plan.ready) stream.on('data', lineSplitter(onLine));
  }
  const pid = child.pid ?? 0;
  if (pid > 0) recordProcess(plan.records, plan.name, pid);
  const gone = ended.then((end) => {
    forgetProcess(plan.records, plan.name);
    log.close();
    return end;
  });
  const stop = () => stopProcess(plan, pid, gone);
  const process: ManagedProcess = { name: plan.name, pid, ended: gone, lastLines: log.lastLines, stop };
  const timeout = AbortSignal.timeout(plan.readyWithinMs);
  const patience = plan.unwanted === undefined ? timeout : AbortSignal.any([timeout, plan.unwanted]);
  const late = new Promise<'late'>((settle) => {
    if (patience.aborted) settle('late');
    patience.addEventListener('abort', () => settle('late'), { once: true });
  });
  const probed = 'probe' in plan.ready ? [askUntilYes(plan.ready.probe, patience, gone)] : [];
  const outcome = await Promise.race([ready.promise, gone, late, ...probed]).catch(async (error: unknown) => {
    // A probe that throws must not leave its process behind.
    await stop();
    throw error;
  });
  if (outcome === 'ready') return process;
  await stop();
  throw notServing(plan, outcome, log.lastLines());
}

// 15 ms: a start in seconds is not made slower by it, and the question costs well under a millisecond
const probeEveryMs = 15;

async function askUntilYes(
  probe: () => Promise<boolean>,
  patience: AbortSignal,
  gone: Promise<ProcessEnd>,
): Promise<'ready' | ProcessEnd> {
  let ended = false;
  void gone.then(() => (ended = true));
  while (!(await probe())) {
    if (ended || patience.aborted) return gone;
    await sleep(probeEveryMs);
  }
  return 'ready';
}

function notServing(plan: ProcessPlan, outcome: ProcessEnd | 'late', lines: readonly string[]): CodedError {
  const how =
    outcome === 'late'
      ? `did not serve within ${plan.readyWithinMs} ms`
      : `ended with ${outcome.signal ?? `code ${outcome.code}`} before it served`;
  return new CodedError(
    'service_unreachable',
    `${plan.name} ${how}. Its log is ${plan.logFile}; its last lines:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    { service: plan.name, log: plan.logFile },
  );
}

async function stopProcess(plan: ProcessPlan, pid: number, gone: Promise<ProcessEnd>): Promise<void> {
  if (pid === 0) return void (await gone);
  // to the leader alone: it stops its own children in order
  try {
    process.kill(pid, plan.stopSignal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  const patience = new AbortController();
  const late = await Promise.race([
    gone,
    sleep(plan.stopGraceMs, 'late' as const, { signal: patience.signal }),
  ]);
  patience.abort();
  signalGroup(pid, 'SIGKILL');
  if (late === 'late') await gone;
}

/** Cuts a stream into lines; a line without an end is cut at 64 KiB. */
function lineSplitter(onLine: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(-65_536);
    for (const line of lines) onLine(line);
  };
}
