import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { CliStart } from '../cli/cli-process.ts';
import { loopbackUrl } from '../cli/model-port.ts';

/** Where the program is inside, in every sandbox; see `adapters/sandbox/cli-bundle.ts`. */
const program = '/opt/lemniscate/codex/bin/codex';
const home = '/home/agent/.codex';

/** Where it keeps what was said, for a sandbox whose home came out of a checkpoint. */
export const sessionsFolder = `${home}/sessions`;

/** What it would reach the outside with, or do without asking. */
const featuresOff = [
  'apps',
  'browser_use',
  'computer_use',
  'enable_request_compression',
  'goals',
  'hooks',
  'image_generation',
  'multi_agent',
  'plugins',
  'shell_snapshot',
  'sleep_tool',
  'tool_suggest',
  'view_image',
];

/** Its own tools, which are off where it gets ours. */
const ownTools = ['shell_tool', 'unified_exec'];

/** Longer than anybody waits: what bounds a session is its budget. Seconds. */
const longSeconds = 7 * 86_400;

/**
 * How Codex is started. All of it is on the command line, which a file of the repository or of its home cannot
 * override; its inner sandbox is off, since it cannot nest in ours.
 */
export function codexCommand(order: SessionOrder): CliStart {
  const hosted = order.cliTools === 'hosted';
  const off = [...featuresOff, ...(hosted ? ownTools : [])];
  const settings: Readonly<Record<string, string>> = {
    model_provider: '"relay"',
    'model_providers.relay.name': '"relay"',
    'model_providers.relay.base_url': `"${loopbackUrl}/v1"`,
    'model_providers.relay.wire_api': '"responses"',
    'model_providers.relay.env_key': '"RELAY_KEY"',
    check_for_update_on_startup: 'false',
    // A login shell reads the profiles that an earlier command has left: what runs would not be what was judged.
    allow_login_shell: 'false',
    web_search: '"disabled"',
    'analytics.enabled': 'false',
    'agents.enabled': 'false',
    // As a whole: with the path in a dotted name Codex reads no such project, and trusts it.
    projects: '{"/workspace"={trust_level="untrusted"}}',
    ...Object.fromEntries(off.map((name) => [`features.${name}`, 'false'])),
    ...(hosted
      ? {
          'mcp_servers.lemniscate.url': `"${loopbackUrl}/mcp"`,
          'mcp_servers.lemniscate.tool_timeout_sec': String(longSeconds),
          'mcp_servers.lemniscate.startup_timeout_sec': '30',
          'mcp_servers.lemniscate.default_tools_approval_mode': '"approve"',
        }
      : {}),
  };
  return {
    argv: [
      'bash',
      '-c',
      'mkdir -p "$CODEX_HOME" && exec "$0" "$@"',
      program,
      'app-server',
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    // The relay token never enters the sandbox; this only satisfies the program.
    env: { CODEX_HOME: home, RELAY_KEY: 'placeholder' },
  };
}

/** The thread of a session: a new one, or the one that an earlier attempt has left. */
export function threadRequest(order: SessionOrder, memory: string, earlier: string | null): JsonObject {
  const params = {
    model: order.model,
    cwd: '/workspace',
    approvalPolicy: 'untrusted',
    sandbox: 'danger-full-access',
    // Of a repository that it does not trust it reads no instructions either, so we read them.
    developerInstructions: [order.systemPrompt, memory].filter((part) => part !== '').join('\n\n'),
  };
  return earlier === null
    ? { id: 'thread', method: 'thread/start', params }
    : { id: 'thread', method: 'thread/resume', params: { ...params, threadId: earlier } };
}
