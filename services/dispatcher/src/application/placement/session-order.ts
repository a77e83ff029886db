import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { objectTools, toolNames } from '@lemniscate/shared/tools/catalogue.ts';
import type { RemoteToolDefinition } from '@lemniscate/shared/tools/remote-tool.ts';
import { mayDelegate } from '@lemniscate/shared/policy/delegation.ts';
import { toolVerdict } from '@lemniscate/shared/policy/policy.ts';
import type { ResumeOrder } from '@lemniscate/shared/protocol/checkpoint.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type {
  FetchDepth,
  OrderedRepository,
  RepositorySource,
} from '@lemniscate/shared/repository/source.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import { systemPrompt } from './system-prompt.ts';

/** Makes addresses from which a server reads a stored bundle; valid for minutes. */
export type BundleAddress = (projectId: string, sha256: string) => Promise<string>;

/** Times that an order tells its server. Milliseconds. */
export interface OrderTimes {
  readonly leaseMs: number;
  readonly startTimeoutMs: number;
  /** How often a session that works is stored; 0: never. */
  readonly checkpointMs: number;
}

/** What a project gets whose policy names no sandbox profile. */
const defaultProfile = 'default';

/** The environment that goes under the working copy, or that the session prepares. */
function environmentOrders({
  policy: { environment },
  builds_environment: environmentId,
  installed,
}: SessionRow): Pick<SessionOrder, 'environment' | 'build'> {
  if (environment === undefined) return {};
  const { prepare, lockfiles, variables, maxMinutes, allowSecretsIn } = environment;
  return {
    environment: {
      prepare,
      lockfiles,
      variables,
      ...(installed === null ? {} : { installed: [...installed] }),
    },
    ...(environmentId === null
      ? {}
      : { build: { environmentId, maxSeconds: maxMinutes * 60, allowSecretsIn } }),
  };
}

/** Names the repository as the agent server will read it. */
export async function orderRepository(
  projectId: string,
  source: RepositorySource,
  bundleAddress: BundleAddress,
  fetch: FetchDepth | undefined,
): Promise<OrderedRepository> {
  const how = fetch === undefined ? {} : { fetch };
  if (source.kind !== 'bundle') return { ...source, ...how };
  const large = fetch?.lfs === undefined ? {} : { lfs: fetch.lfs };
  return { ...source, ...large, url: await bundleAddress(projectId, source.sha256) };
}

/** What a server is told about a session: its order for one attempt. */
export function sessionOrder(
  session: SessionRow,
  attempt: number,
  relayToken: string,
  repository: OrderedRepository,
  resume: ResumeOrder | null,
  times: OrderTimes,
  /** What the agent remembers; null: it has no memory. */
  memory: readonly FolderFile[] | null,
  /** The environment of commands, opened for this order alone. */
  credentials: Readonly<Record<string, string>>,
  remoteTools: readonly RemoteToolDefinition[],
  /** `traceparent` of the placement. */
  trace: string | null = null,
): SessionOrder {
  const { policy } = session;
  const { tools: wanted } = session.agent_definition;
  const tools = toolNames.filter(
    (tool) =>
      toolVerdict(policy, tool) !== 'disabled' &&
      (wanted === undefined || wanted.includes(tool)) &&
      (tool !== 'delegate' || mayDelegate(policy, session.ancestors.length)) &&
      (session.object_id !== null || !objectTools.some((name) => name === tool)),
  );
  return {
    sessionId: session.id,
    attempt,
    projectId: session.project_id,
    runtime: session.runtime,
    model: session.model,
    surface: session.surface,
    interactive: session.interactive,
    instruction: session.instruction,
    followUps: session.follow_ups,
    systemPrompt: systemPrompt({
      interactive: session.interactive,
      canRun: tools.includes('run_command'),
      role: session.agent_definition.systemPrompt ?? '',
      skills: session.skills,
      remembers: memory !== null,
    }),
    repository,
    attachments: [
      ...session.skills.map(({ name, files }) => ({ folder: `skills/${name}`, files: [...files] })),
      ...(memory === null ? [] : [{ folder: 'memory', files: [...memory] }]),
    ],
    collect: [...(memory === null ? [] : (['memory'] as const)), 'files'],
    tools,
    ...(remoteTools.length === 0 ? {} : { remoteTools: [...remoteTools] }),
    cliTools: policy.cli?.tools ?? 'own',
    continueAfterToolRejection: policy.continueAfterToolRejection,
    compactAtTokens: policy.compactAtTokens,
    commandMaxSeconds: policy.commandMaxSeconds,
    commandMaxOutputBytes: policy.commandMaxOutputBytes,
    profile: policy.sandboxProfile ?? defaultProfile,
    ...(policy.egress === undefined || policy.egress.length === 0 ? {} : { egress: policy.egress }),
    ...(Object.keys(credentials).length === 0 ? {} : { credentials: { ...credentials } }),
    ...environmentOrders(session),
    relayToken,
    leaseMs: times.leaseMs,
    startWithinMs: times.startTimeoutMs,
    ...(resume === null ? {} : { resume }),
    ...(trace === null ? {} : { trace }),
    ...(times.checkpointMs === 0 ? {} : { checkpointEveryMs: times.checkpointMs }),
  };
}
