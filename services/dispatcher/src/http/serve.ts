import type { Logger } from 'pino';
import type { NewId } from '@lemniscate/shared/id.ts';
import type { Authenticator } from '../application/identity.ts';
import type { HeartbeatDeps } from '../application/servers/take-heartbeat.ts';
import type { IngestDeps } from '../application/events/ingest-batch.ts';
import type { FollowDeps } from '../application/events/follow-session.ts';
import type { PermitDeps } from '../application/permits/request-permit.ts';
import type { ResultDeps } from '../application/results/accept-result.ts';
import type { UploadDeps } from '../application/uploads/announce-upload.ts';
import type { PatchDeps } from '../application/review/read-patch.ts';
import type { ProjectDeps } from '../application/projects/change-policy.ts';
import type { RevokeDeps } from '../application/revocation/revoke.ts';
import type { ReviewDeps } from '../application/review/decide-diff.ts';
import { registerAccessRoutes } from './access-routes.ts';
import type { AccessRouteDeps } from './access-routes.ts';
import type { AgentCredentialDeps } from '../application/agents/agent-credentials.ts';
import { registerEnvironmentRoutes, registerResolveEnvironmentRoute } from './environment-routes.ts';
import type { AskBuildDeps } from '../application/environments/ask-build.ts';
import type { ResolveDeps } from '../application/environments/resolve-environment.ts';
import { registerCredentialRoutes } from './credential-routes.ts';
import { registerAgentRoutes } from './agent-routes.ts';
import type { SkillDeps } from '../application/agents/skills.ts';
import { createApp } from './app.ts';
import type { App, ListenerTls } from './app.ts';
import { registerApprovalRoutes } from './approvals-routes.ts';
import type { ApprovalRouteDeps } from './approvals-routes.ts';
import { requireAccess } from './authorise.ts';
import { protectAnswers } from './console-files.ts';
import { registerConsoleRoutes } from './console-routes.ts';
import type { ConsoleDeps } from './console-routes.ts';
import { registerAuditRoutes } from './audit-routes.ts';
import type { AuditRouteDeps } from './audit-routes.ts';
import { registerCarryRoutes } from './carry-routes.ts';
import { registerCostAdminRoutes } from './costs-admin-routes.ts';
import type { CostAdminDeps } from './costs-admin-routes.ts';
import { registerCostRoutes } from './costs-routes.ts';
import type { CostRouteDeps } from './costs-routes.ts';
import { registerDiffRoutes } from './diffs-routes.ts';
import { registerEventIngestRoutes, registerEventStreamRoutes } from './events-routes.ts';
import { registerLogRoutes } from './log-routes.ts';
import { registerPermitRoutes } from './permits-routes.ts';
import type { OpenAnswers } from './open-answers.ts';
import { registerExtensionRoutes } from './extension-routes.ts';
import { registerLoginRoutes } from './login-routes.ts';
import type { LoginRouteDeps } from './login-routes.ts';
import { registerAttachmentRoutes, registerMemoryRoutes } from './memory-routes.ts';
import type { MemoryRouteDeps } from './memory-routes.ts';
import { registerMcpRoutes } from './mcp/mcp-routes.ts';
import type { McpRouteDeps } from './mcp/mcp-routes.ts';
import { measureAndTrace } from './watch-requests.ts';
import type { WatchDeps } from './watch-requests.ts';
import { registerMetricsRoutes } from './metrics-routes.ts';
import type { MetricsRouteDeps } from './metrics-routes.ts';
import { registerMessageRoutes, registerNextMessageRoutes } from './message-routes.ts';
import { registerCheckpointRoutes } from './checkpoint-routes.ts';
import type { CheckpointRouteDeps } from './checkpoint-routes.ts';
import { registerPauseRoutes } from './pause-routes.ts';
import { registerProjectRoutes } from './project-routes.ts';
import { registerRevocationRoutes } from './revocation-routes.ts';
import { registerRemoteToolRoutes } from './remote-tool-routes.ts';
import type { RemoteToolDeps } from '../application/remote-tools/look-at-servers.ts';
import { registerResendRoutes } from './resend-routes.ts';
import { registerRetentionRoutes } from './retention-routes.ts';
import type { RetentionRouteDeps } from './retention-routes.ts';
import { registerResultRoutes } from './results-routes.ts';
import { registerToolCallRoutes } from './tool-calls-routes.ts';
import { registerAttemptUploadRoutes, registerUploadRoutes } from './uploads-routes.ts';
import { registerGatewayRoutes } from './gateway-routes.ts';
import type { GatewayDeps } from './gateway-routes.ts';
import { registerHealthRoutes } from './health-routes.ts';
import type { HealthDeps } from './health-routes.ts';
import { registerInboxRoutes } from './inbox-routes.ts';
import { registerHookRoutes } from './hook-routes.ts';
import type { HookRouteDeps } from './hook-routes.ts';
import { registerTriggerRoutes } from './trigger-routes.ts';
import type { TriggerRouteDeps } from './trigger-routes.ts';
import { registerNotifyRoutes } from './notify-routes.ts';
import type { TargetDeps } from '../application/notify/targets.ts';
import { registerObjectRoutes } from './object-routes.ts';
import type { ObjectDeps } from '../application/objects/create-object.ts';
import { registerHeartbeatRoutes } from './heartbeat-routes.ts';
import { requireAgentServer, requirePerson } from './identity.ts';
import { registerIntakeRoutes } from './intake-routes.ts';
import type { IntakeRouteDeps } from './intake-routes.ts';
import { registerInvitationRoutes } from './invitation-routes.ts';
import type { InvitationRouteDeps } from './invitation-routes.ts';
import { registerLineRoutes } from './line-routes.ts';
import type { LineRouteDeps } from './line-routes.ts';
import { registerPoolRoutes } from './pool-routes.ts';
import { registerQueueRoutes } from './queue-routes.ts';
import type { QueueRouteDeps } from './queue-routes.ts';
import { listen } from './listen.ts';
import { limitRate } from './rate-limit.ts';
import { refusePoison } from './refuse-poison.ts';
import { registerServerRoutes } from './server-routes.ts';
import type { ServerRouteDeps } from './server-routes.ts';
import { registerSessionRoutes } from './session-routes.ts';
import type { SessionRouteDeps } from './session-routes.ts';

/** What a listener shows to its callers, as PEM. */
export interface TlsIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

interface FrameDeps {
  readonly log: Logger;
  readonly newId: NewId;
}

export interface Listener {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export type PublicDeps = FrameDeps &
  ConsoleDeps &
  SessionRouteDeps &
  ServerRouteDeps &
  FollowDeps &
  ApprovalRouteDeps &
  UploadDeps &
  PatchDeps &
  ReviewDeps &
  RevokeDeps &
  ProjectDeps &
  QueueRouteDeps &
  IntakeRouteDeps &
  InvitationRouteDeps &
  CostRouteDeps &
  CostAdminDeps &
  RetentionRouteDeps &
  AuditRouteDeps &
  AccessRouteDeps &
  SkillDeps &
  AgentCredentialDeps &
  AskBuildDeps &
  MetricsRouteDeps &
  WatchDeps &
  MemoryRouteDeps &
  ObjectDeps &
  McpRouteDeps &
  TriggerRouteDeps &
  TargetDeps &
  HookRouteDeps &
  RemoteToolDeps &
  LoginRouteDeps & {
    /** What one login may ask in a minute. */
    readonly requestsPerMinute: number;
    readonly trustedProxies: readonly string[];
    readonly authenticator: Authenticator;
    readonly openAnswers: OpenAnswers;
    readonly ready: HealthDeps['parts'];
  };

export type InternalDeps = FrameDeps &
  LineRouteDeps &
  HeartbeatDeps &
  IngestDeps &
  PermitDeps &
  ResultDeps &
  CheckpointRouteDeps &
  ResolveDeps &
  UploadDeps &
  WatchDeps &
  GatewayDeps;

export interface ListenerAddress<Certificate> {
  readonly host: string;
  readonly port: number;
  readonly certificate: Certificate;
}

const mebibyte = 1024 * 1024;

/** The public listener: people and their programs. */
export async function servePublic(
  deps: PublicDeps,
  address: ListenerAddress<TlsIdentity | null>,
): Promise<Listener> {
  const app = await createApp({
    title: 'Lemniscate',
    logger: deps.log,
    newId: deps.newId,
    bodyLimit: mebibyte,
    tls: address.certificate === null ? null : tlsOf(address.certificate, false),
    trustedProxies: deps.trustedProxies,
  });
  await limitRate(app, deps.requestsPerMinute);
  requirePerson(app, deps.authenticator, { openAnswers: deps.openAnswers, failures: deps.loginFailures });
  requireAccess(app, deps.database);
  measureAndTrace(app, deps, 'public');
  refusePoison(app);
  protectAnswers(app);
  registerPublicRoutes(app, deps);
  return open(app, address, 'LEMNISCATE_PORT');
}

/** Everything that people and their programs can ask. */
export function registerPublicRoutes(app: App, deps: PublicDeps): void {
  registerHealthRoutes(app, { parts: deps.ready, timeoutMs: 2_000 });
  registerMetricsRoutes(app, deps);
  registerConsoleRoutes(app, deps);
  registerSessionRoutes(app, deps);
  registerEventStreamRoutes(app, deps);
  registerLogRoutes(app, deps);
  registerToolCallRoutes(app, deps);
  registerApprovalRoutes(app, deps);
  registerExtensionRoutes(app, deps);
  registerMessageRoutes(app, deps);
  registerPauseRoutes(app, deps);
  registerUploadRoutes(app, deps);
  registerDiffRoutes(app, deps);
  registerServerRoutes(app, deps);
  registerProjectRoutes(app, deps);
  registerQueueRoutes(app, deps);
  registerPoolRoutes(app, deps);
  registerInvitationRoutes(app, deps);
  registerIntakeRoutes(app, deps);
  registerRevocationRoutes(app, deps);
  registerAuditRoutes(app, deps);
  registerRetentionRoutes(app, deps);
  registerResendRoutes(app, deps);
  registerCostRoutes(app, deps);
  registerCostAdminRoutes(app, deps);
  registerAccessRoutes(app, deps);
  registerLoginRoutes(app, deps);
  registerAgentRoutes(app, deps);
  registerCredentialRoutes(app, deps);
  registerEnvironmentRoutes(app, deps);
  registerMemoryRoutes(app, deps);
  registerObjectRoutes(app, deps);
  registerInboxRoutes(app, deps);
  registerMcpRoutes(app, deps);
  registerTriggerRoutes(app, deps);
  registerHookRoutes(app, deps);
  registerRemoteToolRoutes(app, deps);
  registerCarryRoutes(app, deps);
  registerNotifyRoutes(app, deps);
}

/** The internal listener: agent servers with a certificate of ours, and nobody else. */
export async function serveInternal(
  deps: InternalDeps,
  address: ListenerAddress<TlsIdentity>,
): Promise<Listener> {
  const app = await createApp({
    title: 'Lemniscate internal',
    logger: deps.log,
    newId: deps.newId,
    bodyLimit: 8 * mebibyte,
    tls: tlsOf(address.certificate, true),
  });
  requireAgentServer(app);
  measureAndTrace(app, deps, 'internal');
  registerHeartbeatRoutes(app, deps);
  registerLineRoutes(app, deps);
  registerEventIngestRoutes(app, deps);
  registerPermitRoutes(app, deps);
  registerNextMessageRoutes(app, deps);
  registerResultRoutes(app, deps);
  registerCheckpointRoutes(app, deps);
  registerAttemptUploadRoutes(app, deps);
  registerGatewayRoutes(app, deps);
  registerAttachmentRoutes(app, deps);
  registerResolveEnvironmentRoute(app, deps);
  return open(app, address, 'LEMNISCATE_INTERNAL_PORT');
}

async function open(app: App, address: { host: string; port: number }, variable: string): Promise<Listener> {
  const port = await listen(app, address.host, address.port, variable).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  return { port, close: () => app.close() };
}

function tlsOf(certificate: TlsIdentity, clientCertificates: boolean): ListenerTls {
  return { ca: certificate.ca, cert: certificate.cert, key: certificate.key, clientCertificates };
}
