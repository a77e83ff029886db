import { z } from 'zod';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { permitRequestSchema } from '@lemniscate/shared/protocol/permit.ts';
import type { PermitRequest } from '@lemniscate/shared/protocol/permit.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import { isToolName, toolCatalogue } from '@lemniscate/shared/tools/catalogue.ts';
import { isRemoteToolName } from '@lemniscate/shared/tools/remote-tool.ts';
import { maxArgumentsLength } from '../remote-tools/check-arguments.ts';
import { isDeeperThan, someText } from '../json-walk.ts';

/** A tool call as it is proposed, its arguments checked strictly once more. */
export interface Proposal {
  readonly callId: string;
  readonly turn: number;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly argumentsDigest: string;
  /** One line for a person. */
  readonly title: string;
  /** What the call is about where the tool names it. */
  readonly path: string | null;
  readonly waitMs: number;
  /** The caller is a program in the sandbox that acts by itself: what it says that it will do is a claim. */
  readonly reported: boolean;
}

/** Longest body of a proposal: an edit may carry two texts of 4 MiB, escaped. Bytes. */
export const permitBodyLimit = 24 * 1024 * 1024;

// The built-in tools' arguments are flat; nesting without a bound would overflow the stack of whoever walks them.
const maxDepth = 32;

/**
 * Reads a proposal and believes nothing: tool, arguments and digest are checked as if nobody had done so before.
 * @throws CodedError `request_invalid`, `digest_mismatch`
 */
export function readProposal(body: unknown): Proposal {
  if (isDeeperThan(body, maxDepth)) throw invalid('the arguments are nested too deeply');
  const parsed = permitRequestSchema.safeParse(body);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
  const request = parsed.data;
  if (!printable.test(request.callId)) throw invalid('the id of the call must be printable ASCII');
  if (request.turn > maxTurn) throw invalid(`turn ${request.turn} is beyond ${maxTurn}`);
  checkArguments(request);
  // They have no canonical form, so nothing could be approved by digest.
  if (someText(request.arguments, (text) => !text.isWellFormed()))
    throw invalid('its arguments hold half a surrogate pair');
  const digest = argumentsDigest(request.arguments);
  if (digest !== request.argumentsDigest)
    throw new CodedError(
      'digest_mismatch',
      `The arguments of call ${request.callId} have digest ${digest}, not ${request.argumentsDigest}.`,
      { call: request.callId },
    );
  const path = request.arguments['path'];
  return {
    ...request,
    reported: request.reported === true,
    title: titleOf(request),
    path: typeof path === 'string' ? path : null,
  };
}

// What the record's columns hold.
const maxTurn = 1_000_000;
const printable = /^[\x21-\x7e]+$/;

function checkArguments({ tool, callId, arguments: args }: PermitRequest): void {
  if (isRemoteToolName(tool)) {
    // Its schema is the server's, and held against the arguments where it is approved.
    if (JSON.stringify(args).length > maxArgumentsLength)
      throw invalid(`the arguments of call ${callId} are longer than ${maxArgumentsLength} characters`);
    return;
  }
  if (!isToolName(tool))
    throw invalid(
      `call ${callId} names the tool ${tool}; known are ${Object.keys(toolCatalogue).join(', ')}`,
    );
  const checked = toolCatalogue[tool].schema.safeParse(args);
  if (!checked.success) throw invalid(`the arguments of call ${callId}: ${z.prettifyError(checked.error)}`);
}

function titleOf({ tool, arguments: args }: PermitRequest): string {
  if (isRemoteToolName(tool)) return makeVisibleLine(`${tool} ${JSON.stringify(args)}`).slice(0, 4096);
  const subject =
    args['command'] ?? args['pattern'] ?? args['path'] ?? args['task'] ?? args['text'] ?? args['status'];
  const text = typeof subject === 'string' ? subject : '';
  return makeVisibleLine(tool === 'run_command' ? text : `${tool} ${text}`.trim()).slice(0, 4096);
}

function invalid(why: string): CodedError {
  return new CodedError('request_invalid', `This tool call cannot be judged: ${why}.`);
}
