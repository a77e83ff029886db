import canonicalize from 'canonicalize';
import type { ProposedCall } from './evaluate.ts';

/**
 * What an approval "for this session" covers of a tool: exactly the same command, the same path, or else the same
 * arguments. Nothing is widened: no prefix, no wildcard.
 */
export function grantPattern({ tool, arguments: args }: ProposedCall): string {
  const { command, path } = args;
  if (tool === 'run_command' && typeof command === 'string') return command;
  if (typeof path === 'string' && (tool === 'write_file' || tool === 'edit_file')) return path;
  return canonicalize(args) ?? '';
}
