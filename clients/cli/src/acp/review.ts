import { ask } from '@lemniscate/api/client.ts';
import { methods } from '@agentclientprotocol/sdk';
import type { AgentContext, PermissionOption, ToolCallContent } from '@agentclientprotocol/sdk';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { join } from 'node:path';
import type { ApiClient } from '../api-client.ts';
import { acceptToApply, readPatch } from '../commands/diff-decision.ts';
import type { OfferedDiff } from '../commands/diff-decision.ts';
import { applyPatch } from '../repository/apply.ts';
import { readChanges } from '../repository/changes.ts';
import { textContent } from './updates.ts';

/** Longest patch that is shown as text where old and new files cannot be, in UTF-16 units. */
const shownPatch = 100_000;

/**
 * Shows what an ended session offers, as old and new text, and asks what shall become of it. Only a yes accepts the diff
 * and puts it into the working tree; whoever leaves the question open finds the diff with the terminal client.
 * @returns words for the person
 */
export async function reviewInEditor(
  client: ApiClient,
  editor: AgentContext,
  editorSessionId: string,
  folder: string,
  session: SessionView & { readonly diff: OfferedDiff },
): Promise<string> {
  const { diff } = session;
  const patch = await readPatch(client, session.id);
  const toolCallId = `changes-${session.id}`;
  const title = `${diff.files.length} ${diff.files.length === 1 ? 'file' : 'files'} changed, +${diff.insertions} −${diff.deletions}`;
  const content = await contentOf(folder, patch, diff);
  await editor.notify(methods.client.session.update, {
    sessionId: editorSessionId,
    update: { sessionUpdate: 'tool_call', toolCallId, title, kind: 'edit', status: 'pending', content },
  });
  const { outcome } = await editor.request(methods.client.session.requestPermission, {
    sessionId: editorSessionId,
    toolCall: { toolCallId, title, kind: 'edit', status: 'pending', content },
    options: optionsFor(diff),
  });
  const answer = outcome.outcome === 'selected' ? outcome.optionId : 'later';
  const said = await carryOut(client, folder, session, patch, answer);
  await editor.notify(methods.client.session.update, {
    sessionId: editorSessionId,
    update: { sessionUpdate: 'tool_call_update', toolCallId, status: said.done ? 'completed' : 'failed' },
  });
  return said.words;
}

/** Files under dedicated control are accepted by name: the button that accepts them has to say which they are. */
function optionsFor(diff: OfferedDiff): PermissionOption[] {
  const flagged = flaggedFiles(diff);
  const including = flagged.length === 0 ? '' : `, including ${flagged.map(makeVisibleLine).join(', ')}`;
  return [
    { optionId: 'apply', kind: 'allow_once', name: `Accept and apply${including}` },
    { optionId: 'reject', kind: 'reject_once', name: 'Reject' },
  ];
}

function flaggedFiles(diff: OfferedDiff): string[] {
  return diff.files.filter((file) => file.flags.length > 0).map((file) => file.path);
}

async function contentOf(folder: string, patch: Uint8Array, diff: OfferedDiff): Promise<ToolCallContent[]> {
  const changes = await readChanges(folder, patch, diff.baseTree);
  if (changes === null)
    return [textContent(makeVisible(Buffer.from(patch).toString('utf8').slice(0, shownPatch)))];
  const shown = changes.map(({ path, before, after }): ToolCallContent => ({
    type: 'diff',
    path: join(folder, path),
    oldText: before,
    newText: after ?? '',
  }));
  const unseen = diff.files.filter(({ path }) => !changes.some((change) => change.path === path));
  if (unseen.length === 0) return shown;
  const names = unseen.map(({ path, change }) => `${change}: ${makeVisibleLine(path)}`).join('\n');
  return [...shown, textContent(`Not shown as text:\n${names}`)];
}

async function carryOut(
  client: ApiClient,
  folder: string,
  { id, diff }: SessionView & { readonly diff: OfferedDiff },
  patch: Uint8Array,
  answer: string,
): Promise<{ readonly done: boolean; readonly words: string }> {
  if (answer === 'reject') {
    await ask(
      client.api.POST('/v1/sessions/{id}/diff/reject', {
        params: { path: { id } },
      }),
    );
    return { done: false, words: 'The changes were rejected; nothing was touched.' };
  }
  if (answer !== 'apply')
    return {
      done: false,
      words: `Nothing was decided. The changes stay on offer: npx lemniscate apply ${id}`,
    };
  try {
    const applied = await applyPatch(folder, patch, diff.baseTree, () =>
      acceptToApply(client, id, diff, flaggedFiles(diff)),
    );
    return {
      done: true,
      words: `Applied to ${applied.files.length} ${applied.files.length === 1 ? 'file' : 'files'}; nothing is committed.`,
    };
  } catch (error) {
    if (
      !isCodedError(error, 'diff_conflict') &&
      !isCodedError(error, 'diff_decided') &&
      !isCodedError(error, 'conflict')
    )
      throw error;
    return { done: false, words: error.message };
  }
}
