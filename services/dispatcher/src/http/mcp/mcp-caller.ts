import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Segments } from '../../application/events/segments.ts';
import type { Person } from '../../application/identity.ts';
import type { MessageDeps } from '../../application/messages/send-message.ts';
import type { PatchDeps } from '../../application/review/read-patch.ts';
import type { CreateSessionDeps } from '../../application/sessions/create-session.ts';
import type { StopSessionDeps } from '../../application/sessions/stop-session.ts';
import type { WaitDeps } from '../../application/sessions/wait-for-end.ts';
import type { CallTicket } from './streams.ts';

export type McpDeps = CreateSessionDeps &
  StopSessionDeps &
  WaitDeps &
  MessageDeps &
  PatchDeps & { readonly segments: Segments };

/** Who calls, and what the call may use. */
export interface McpCaller {
  readonly deps: McpDeps;
  /** Always automation: whoever holds the login, a model speaks. */
  readonly person: Person;
  /** Of a call that opens a session, else null. */
  readonly ticket: CallTicket | null;
  /** `traceparent` of the request; null where nothing is traced. */
  readonly trace: string | null;
  /** Notes a fault of ours, and passes the answer on. */
  refused(error: unknown, told: CallToolResult): CallToolResult;
}
