import { methods } from '@agentclientprotocol/sdk';
import type { AgentContext, PermissionOption, ToolCallContent } from '@agentclientprotocol/sdk';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { join } from 'node:path';
import type { ApiClient } from '../api-client.ts';
import { decideApproval, describeApproval } from '../follow/approvals.ts';
import { textContent, toolKind } from './updates.ts';

const options: readonly PermissionOption[] = [
  { optionId: 'approve', kind: 'allow_once', name: 'Allow this once' },
  { optionId: 'approve_session', kind: 'allow_always', name: 'Allow exactly this for the session' },
  { optionId: 'reject', kind: 'reject_once', name: 'Reject' },
];

/**
 * Shows an approval in the editor and passes the answer on, with the digest of what was shown. No answer decides
 * nothing: the approval goes on waiting, for the editor or for anybody else who may decide.
 * @param withdrawn aborts when it was decided elsewhere
 */
export async function askInEditor(
  client: ApiClient,
  editor: AgentContext,
  editorSessionId: string,
  folder: string,
  approval: ApprovalView,
  withdrawn: AbortSignal,
): Promise<void> {
  const { outcome } = await editor.request(
    methods.client.session.requestPermission,
    {
      sessionId: editorSessionId,
      toolCall: {
        toolCallId: approval.callId,
        title: makeVisibleLine(`${approval.tool} ${approval.title}`),
        kind: toolKind(approval.tool),
        status: 'pending',
        rawInput: approval.arguments,
        content: contentOf(approval, folder),
      },
      options: [...options],
    },
    { cancellationSignal: withdrawn },
  );
  if (outcome.outcome !== 'selected' || withdrawn.aborted) return;
  const decision = decisions.find((known) => known === outcome.optionId);
  if (decision === undefined) return;
  await decideApproval(client, approval, decision);
}

const decisions = ['approve', 'approve_session', 'reject'] as const;

/** An edit is shown as its old and new text, everything else as the exact command or arguments, with the reasons. */
function contentOf(approval: ApprovalView, folder: string): ToolCallContent[] {
  const reasons = textContent(describeApproval(approval));
  const { path, old_text: oldText, new_text: newText, content } = approval.arguments;
  if (typeof path !== 'string') return [reasons];
  const file = join(folder, path);
  if (approval.tool === 'edit_file' && typeof oldText === 'string' && typeof newText === 'string')
    return [{ type: 'diff', path: file, oldText, newText }, reasons];
  if (approval.tool === 'write_file' && typeof content === 'string')
    return [{ type: 'diff', path: file, newText: content }, reasons];
  return [reasons];
}
