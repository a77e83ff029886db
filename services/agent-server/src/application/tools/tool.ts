import type { SandboxToolName, ToolArguments, ToolName } from '@lemniscate/shared/tools/catalogue.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';

/** What a tool may use. There is no way to the host's files: everything happens inside the sandbox. */
export interface ToolContext {
  readonly sandbox: Pick<Sandbox, 'run'>;
  readonly signal: AbortSignal;
  readonly commandMaxSeconds: number;
  readonly commandMaxOutputBytes: number;
  /** Live output for the person; waits while the journal is full. */
  output(stream: 'stdout' | 'stderr', text: string): Promise<void>;
}

/** What the model is told, and what is recorded. `exitCode` and byte counts are the sandbox' claims. */
export interface ToolResult {
  /** The tool could not do what was asked; the model is told and can correct itself. */
  readonly isError: boolean;
  readonly text: string;
  readonly exitCode?: number | null;
  readonly outputBytes?: number;
  readonly droppedBytes?: number;
}

/** One built-in tool. Its name, description and schema are the catalogue's. */
export interface Tool<Name extends ToolName> {
  /** One line for a person: the command, the path. */
  title(input: ToolArguments<Name>): string;
  /** @throws CodedError `sandbox_lost`, or the signal's reason after a stop; everything else is a result */
  run(input: ToolArguments<Name>, context: ToolContext): Promise<ToolResult>;
}

export type ToolRegistry = { readonly [Name in SandboxToolName]: Tool<Name> };

export const failure = (text: string): ToolResult => ({ isError: true, text });
