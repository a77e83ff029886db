import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';
import type { CliProcess } from './cli-process.ts';
import type { HostedTools } from './hosted-tools.ts';
import type { ModelPort } from './model-port.ts';
import type { ReportedCalls } from './reported-calls.ts';
import type { CliRuntimeName, CliTalk } from './talk.ts';
import type { UsageClaim } from './usage-claim.ts';

/** A vendor's agent: how it is started and spoken to. The loop around it is `cli-runtime.ts`. */
export interface VendorProgram {
  readonly runtime: CliRuntimeName;
  /** What people call it. */
  readonly title: string;
  /** Files in which repositories advise it; the first that is there is read. */
  readonly memoryFiles: readonly string[];
  /** Starts a process, which goes on from the session files of an earlier one where they are there. */
  start(desk: ProgramDesk): Promise<RunningProgram>;
}

/** What a process is given. */
export interface ProgramDesk {
  readonly context: RuntimeContext;
  readonly talk: CliTalk;
  readonly port: ModelPort;
  readonly calls: ReportedCalls;
  /** Ours, where its own tools are off. */
  readonly hosted: HostedTools | null;
  readonly usage: UsageClaim;
  /** The repository's own instructions. */
  readonly memory: string;
}

/** One process of a vendor's agent. */
export interface RunningProgram {
  readonly cli: CliProcess;
  /** Whether it knows what an earlier process was told. */
  readonly resumed: boolean;
  /** Gives it a person's words to work on. */
  say(text: string): void;
  /** Asks it to leave what it is at; its answer comes as always. */
  interrupt(): void;
  /** Takes one line of its output; what it means when it has answered or given up. */
  take(line: JsonObject): Promise<RuntimeEnd | null>;
  /** Tells what has been said so far. */
  flush(): void;
  /**
   * Resolves when its session file holds the last result that it was given, or after a second: what is killed before
   * would forget what it has done. Absent where the program writes before it asks its model.
   */
  written?(): Promise<void>;
}
