import type { ContentBlock } from '@agentclientprotocol/sdk';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** What the fleet takes as one message, in UTF-16 units. */
const maxLength = 100_000;

/**
 * A prompt as the session reads it: its words, and what the editor attached, named so that the model can tell them apart.
 * @throws CodedError `request_invalid` for what a session cannot read
 */
export function promptText(blocks: readonly ContentBlock[]): string {
  const text = blocks.map(blockText).join('\n').trim();
  if (text === '') throw new CodedError('request_invalid', 'The message is empty.');
  if (text.length <= maxLength) return text;
  throw new CodedError(
    'request_invalid',
    `The message has ${text.length} characters with what is attached; a session takes ${maxLength}. Attach less: the agent can read the repository’s files itself.`,
  );
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `[${block.name}](${block.uri})`;
    case 'resource':
      if ('text' in block.resource)
        return `\n<attached uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</attached>\n`;
      throw cannotRead('binary files');
    case 'image':
      throw cannotRead('pictures');
    case 'audio':
      throw cannotRead('sound');
    default:
      return block satisfies never;
  }
}

function cannotRead(what: string): CodedError {
  return new CodedError('request_invalid', `A session cannot read ${what} from a prompt. Send text.`);
}
