import { uploadObject } from '@lemniscate/agent-server/adapters/upload-object.ts';
import type { ObjectCache } from '@lemniscate/agent-server/application/ports/object-cache.ts';
import type { SyncContext } from '@lemniscate/agent-server/application/sessions/lay-attachments.ts';
import { attachmentAddresses } from '@lemniscate/dispatcher/application/agents/attachment-addresses.ts';
import type { AttemptClaim } from '@lemniscate/dispatcher/application/events/live-attempt.ts';
import { announceUpload } from '@lemniscate/dispatcher/application/uploads/announce-upload.ts';
import { completeUpload } from '@lemniscate/dispatcher/application/uploads/complete-upload.ts';
import { attemptOwner } from '@lemniscate/dispatcher/application/uploads/upload-row.ts';
import type { TestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';

/** An agent server's side of one session that was given these files as its memory. */
export function syncContext(
  record: TestRecord,
  claim: AttemptClaim,
  objectCache: ObjectCache,
  files: readonly FolderFile[],
): SyncContext {
  return {
    held: claim,
    order: { attachments: [{ folder: 'memory', files: [...files] }] },
    deps: { objectCache, uploadObject, dispatcher: dispatcherOf(record, claim) },
  };
}

/** The dispatcher's own answers, in this process: what is measured is the moving, not the line between two services. */
function dispatcherOf(record: TestRecord, claim: AttemptClaim): SyncContext['deps']['dispatcher'] {
  const refuse = () => Promise.reject(new Error('this benchmark only moves contents'));
  return {
    requestUpload: (_held, request) => announceUpload(record, 'local', attemptOwner(claim), request),
    completeUpload: async (_held, uploadId) => {
      await completeUpload(record, uploadId, attemptOwner(claim));
    },
    objectAddresses: (_held, digests) => attachmentAddresses(record, claim, digests),
    heartbeat: refuse,
    nextRequests: refuse,
    answerRequest: refuse,
    resolveEnvironment: refuse,
    sendEvents: refuse,
    askPermit: refuse,
    nextMessage: refuse,
    sendResult: refuse,
    takeCheckpoint: refuse,
    giveBack: refuse,
    askModel: refuse,
    relayModel: refuse,
    warm: refuse,
    close: refuse,
  };
}

/** The memory names the files, and the session was given them: a server may then ask for their addresses. */
export async function remember(
  record: TestRecord,
  claim: AttemptClaim,
  files: readonly FolderFile[],
): Promise<void> {
  const at = new Date().toISOString();
  await record.database.query(
    `INSERT INTO memories (agent_id, project_id, version, files, session_id, changed_by)
     VALUES ('default', 'local', 1, $1, $2, 'bench')`,
    [JSON.stringify(files.map((file) => ({ ...file, session: claim.sessionId, at }))), claim.sessionId],
  );
  await record.database.query(`UPDATE sessions SET agent = 'default', memory_version = 1 WHERE id = $1`, [
    claim.sessionId,
  ]);
}
