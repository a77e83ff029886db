import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';

const conversationSchema = z.object({
  folder: z.string(),
  /** Null until the first message has opened a session. */
  fleetSessionId: z.string().nullable(),
});

/** What an editor's session is made of, so that the editor can load it again after a restart. */
export type StoredConversation = z.infer<typeof conversationSchema>;

/** Conversations by the id that the editor knows. */
export interface ConversationStore {
  /** @throws CodedError `session_unknown` */
  read(id: string): Promise<StoredConversation>;
  write(id: string, conversation: StoredConversation): Promise<void>;
}

const validId = /^acp_[0-9a-f-]{36}$/;

/** One small file a conversation below the person's state folder (XDG_STATE_HOME). */
export function createConversationStore(
  env: Readonly<Record<string, string | undefined>>,
): ConversationStore {
  const state = env['XDG_STATE_HOME'];
  const root = state === undefined || state === '' ? join(homedir(), '.local', 'state') : state;
  const folder = join(root, 'lemniscate', 'acp');
  const fileOf = (id: string) => join(folder, `${id}.json`);
  const unknown = (id: string) =>
    new CodedError('session_unknown', `This machine knows no conversation ${JSON.stringify(id)}.`);
  return {
    read: async (id) => {
      // The id comes from the editor and becomes a file's name.
      if (!validId.test(id)) throw unknown(id);
      const text = await readFile(fileOf(id), 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? unknown(id) : error;
      });
      return conversationSchema.parse(JSON.parse(text));
    },
    write: async (id, conversation) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const making = `${fileOf(id)}.${process.pid}`;
      await writeFile(making, `${JSON.stringify(conversation)}\n`, { mode: 0o600 });
      await rename(making, fileOf(id));
    },
  };
}
