import { ask } from '@lemniscate/api/client.ts';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import * as prompts from '@clack/prompts';
import pc from 'picocolors';
import type { ApiClient } from '../api-client.ts';
import { cutColumns } from '../columns.ts';
import { describeChange } from './approval-change.ts';
import type { ViewColours } from './colours.ts';
import { askPerson } from './person.ts';
import type { Outcome, Person } from './person.ts';

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

const plain: ViewColours = pc.createColors(false);

/** What exactly would be done, why it is asked, and who has answered, for the person who decides. */
export function describeApproval(approval: ApprovalView, paint: ViewColours = plain): string {
  const what = paintChange(approval, makeVisible(describeChange(approval)), paint);
  const reasons = approval.reasons.map((reason) => `· ${reason}`).join('\n');
  const people =
    approval.people === 1
      ? ''
      : `\n\nIt takes ${approval.people} different people; ${approval.approvedBy.length === 0 ? 'nobody has approved yet' : `approved by ${approval.approvedBy.join(', ')}`}.`;
  return `${makeVisibleLine(approval.tool)}\n\n${what}\n\n${makeVisible(`${reasons}${people}`)}`;
}

/** A change of a file in the colours of a diff; a command may begin its lines as it likes. */
function paintChange({ arguments: args }: ApprovalView, what: string, paint: ViewColours): string {
  if (typeof args['path'] !== 'string') return what;
  const painted = what.split('\n').map((line) => {
    if (line.startsWith('+ ')) return paint.green(line);
    return line.startsWith('- ') ? paint.red(line) : line;
  });
  return painted.join('\n');
}

function hintOf({ tool, pattern }: ApprovalView): string {
  return cutColumns(makeVisibleLine(`${tool}: ${pattern}`), 120);
}

/** What a person answers, by the key that says it. The first is what Enter means: it must not let anything run. */
const answers = {
  n: 'reject',
  m: 'explain',
  y: 'approve',
  a: 'approve_session',
  s: 'stop',
} as const;

/** What a person decides. */
export interface ApprovalAnswer {
  readonly decision: 'approve' | 'approve_session' | 'reject';
  /** What the agent is told. */
  readonly message?: string;
}

/** Asks the person in front of the terminal. */
export async function askApproval(person: Person, approval: ApprovalView): Promise<Outcome<ApprovalAnswer>> {
  const { output, paint } = person;
  prompts.note(describeApproval(approval, paint), 'The agent asks to run', {
    format: (line) => line,
    output,
  });
  const outcome = await askPerson(person, { letters: false }, (place) =>
    prompts.selectKey<keyof typeof answers>({
      ...place,
      message: 'Let it run? (Ctrl-C interrupts the turn)',
      options: [
        { value: 'n', label: 'No' },
        { value: 'm', label: 'No, and tell the agent why' },
        { value: 'y', label: 'Yes, this once' },
        {
          value: 'a',
          label: 'Yes, and again whenever it is exactly this in this session',
          hint: hintOf(approval),
        },
        { value: 's', label: 'Stop the session (Ctrl-X does so in every question)' },
      ],
    }),
  );
  if (typeof outcome === 'string') return outcome;
  // Enter alone is no key of the list: the prompt then answers with nothing.
  const answer = answers[(outcome.answer as keyof typeof answers | undefined) ?? 'n'];
  if (answer === 'stop') return 'stop';
  return answer === 'explain' ? explain(person) : { answer: { decision: answer } };
}

async function explain(person: Person): Promise<Outcome<ApprovalAnswer>> {
  const outcome = await askPerson(person, { letters: false }, (place) =>
    prompts.text({
      ...place,
      message: 'What should it do instead? (Ctrl-C interrupts the turn, Ctrl-X stops the session)',
    }),
  );
  if (typeof outcome === 'string') return outcome;
  return { answer: { decision: 'reject', message: outcome.answer } };
}
