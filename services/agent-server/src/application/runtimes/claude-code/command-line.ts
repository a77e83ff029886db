import { createHash } from 'node:crypto';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { CliStart } from '../cli/cli-process.ts';
import { loopbackUrl } from '../cli/model-port.ts';
import { keptTools } from './own-tools.ts';

/** Where the program is inside, in every sandbox; see `adapters/sandbox/cli-bundle.ts`. */
const program = '/opt/lemniscate/claude-code/claude';

/** Runs commands without the profiles of a login shell; see `adapters/sandbox/cli-bundle.ts`. */
const plainShell = '/etc/claude-code/bash';

/** Our tools as an MCP server of Claude Code. */
export const hostedServer = 'lemniscate';

/** Longer than anybody waits: what bounds a session is its budget, and what bounds an answer is the gateway. */
const longMs = String(7 * 86_400_000);

/** Its session's own id, the same in every attempt, so that the files of an earlier one are found again. */
export function claudeSessionId(sessionId: string): string {
  const hex = createHash('sha256').update(`claude-code\0${sessionId}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Where it keeps what was said, for a sandbox whose home came out of a checkpoint. */
export const transcriptFile = (sessionId: string): string =>
  `/home/agent/.claude/projects/-workspace/${claudeSessionId(sessionId)}.jsonl`;

/**
 * How Claude Code is started. Settings of the repository are not read (a hook in them would run unasked), its own
 * sub-agents and web tools do not exist, and every call asks over its input and output.
 */
export function claudeCommand(order: SessionOrder, resume: boolean, memory: string): CliStart {
  const hosted = order.cliTools === 'hosted';
  const id = claudeSessionId(order.sessionId);
  const servers = hosted
    ? { [hostedServer]: { type: 'http', url: `${loopbackUrl}/mcp`, alwaysLoad: true } }
    : {};
  return {
    argv: [
      program,
      ...words`--print --verbose --input-format stream-json --output-format stream-json`,
      ...words`--include-partial-messages --permission-prompt-tool stdio --permission-mode default`,
      ...words`--setting-sources user --strict-mcp-config --disable-slash-commands --mcp-config`,
      JSON.stringify({ mcpServers: servers }),
      '--tools',
      hosted ? '' : keptTools(order.tools).join(','),
      '--model',
      order.model,
      '--append-system-prompt',
      [order.systemPrompt, memory].filter((part) => part !== '').join('\n\n'),
      resume ? '--resume' : '--session-id',
      id,
    ],
    env: {
      ANTHROPIC_BASE_URL: loopbackUrl,
      // The relay token never enters the sandbox; this only satisfies the program.
      ANTHROPIC_API_KEY: 'placeholder',
      // Titles and the like go to the session's model as well: it is the one that the gateway lets through.
      ANTHROPIC_SMALL_FAST_MODEL: order.model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: order.model,
      API_TIMEOUT_MS: longMs,
      MCP_TIMEOUT: '30000',
      MCP_TOOL_TIMEOUT: longMs,
      ENABLE_TOOL_SEARCH: 'false',
      CLAUDE_CODE_SHELL: plainShell,
      BASH_DEFAULT_TIMEOUT_MS: String(order.commandMaxSeconds * 1000),
      BASH_MAX_TIMEOUT_MS: String(order.commandMaxSeconds * 1000),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  };
}

function words(text: TemplateStringsArray): string[] {
  return (text[0] ?? '').split(' ');
}
