import { ask } from '@lemniscate/api/client.ts';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import * as prompts from '@clack/prompts';
import type { ApiClient } from '../api-client.ts';
import { describeChange } from './approval-change.ts';

/** The approvals that wait for a person in a session. */
export async function waitingApprovals(client: ApiClient, sessionId: string): Promise<ApprovalView[]> {
  const list = await ask(
    client.api.GET('/v1/sessions/{id}/approvals', { params: { path: { id: sessionId } } }),
  );
  return list.approvals.filter((approval) => approval.state === 'waiting');
}

/** Sends a decision together with the digest of what was shown. A decision that came too late is told, not thrown. */
export async function decideApproval(
  client: ApiClient,
  approval: Pick<ApprovalView, 'id' | 'sessionId' | 'argumentsDigest'>,
  decision: 'approve' | 'approve_session' | 'reject',
  message?: string,
): Promise<'decided' | 'too_late'> {
  try {
    await ask(
      client.api.POST('/v1/sessions/{id}/approvals/{approvalId}', {
        params: { path: { id: approval.sessionId, approvalId: approval.id } },
        body: {
          decision: decision === 'reject' ? 'reject' : 'approve',
          ...(decision === 'approve_session' ? { scope: 'session' } : {}),
          argumentsDigest: approval.argumentsDigest,
          ...(message === undefined || message === '' ? {} : { message }),
        },
      }),
    );
    return 'decided';
  } catch (error) {
    if (isCodedError(error, 'approval_decided') || isCodedError(error, 'session_ended')) return 'too_late';
    throw error;
  }
}

/** What exactly would be done, why it is asked, and who has answered, for the person who decides. */
export function describeApproval(approval: ApprovalView): string {
  const what = describeChange(approval);
  const reasons = approval.reasons.map((reason) => `· ${reason}`).join('\n');
  const people =
    approval.people === 1
      ? ''
      : `\n\nIt takes ${approval.people} different people; ${approval.approvedBy.length === 0 ? 'nobody has approved yet' : `approved by ${approval.approvedBy.join(', ')}`}.`;
  return makeVisible(`${approval.tool}\n\n${what}\n\n${reasons}${people}`);
}

function hintOf({ tool, pattern }: ApprovalView): string {
  return makeVisibleLine(`${tool}: ${pattern}`).slice(0, 120);
}

/**
 * Asks the person in front of the terminal.
 * @returns `left` when they pressed Ctrl-C instead: nothing is decided
 */
export async function askApproval(client: ApiClient, approval: ApprovalView): Promise<'answered' | 'left'> {
  prompts.note(describeApproval(approval), 'The agent asks to run');
  const answer = await prompts.select<'approve' | 'approve_session' | 'reject' | 'explain'>({
    message: 'Let it run?',
    // a stray Enter must not let anything run
    initialValue: 'reject',
    options: [
      { value: 'approve', label: 'Yes, this once' },
      {
        value: 'approve_session',
        label: 'Yes, and again whenever it is exactly this in this session',
        hint: hintOf(approval),
      },
      { value: 'reject', label: 'No' },
      { value: 'explain', label: 'No, and tell the agent why' },
    ],
  });
  if (prompts.isCancel(answer)) return 'left';
  const message =
    answer === 'explain' ? await prompts.text({ message: 'What should it do instead?' }) : undefined;
  const said = typeof message === 'string' ? message : undefined;
  const outcome = await decideApproval(client, approval, answer === 'explain' ? 'reject' : answer, said);
  if (outcome === 'too_late') prompts.log.warn('It was decided meanwhile; this answer did not count.');
  return 'answered';
}
