import type { AgentDefinition } from '@lemniscate/shared/api/agent.ts';
import type { CredentialView } from '@lemniscate/shared/api/credential.ts';
import { fleetChain, reviewChain } from '@lemniscate/shared/audit/entry.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { everyProject } from '@lemniscate/shared/identity/roles.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { Person } from '../identity.ts';
import type { CredentialOwner, CredentialStore } from '../ports/credential-store.ts';
import type { Transaction } from '../ports/transaction.ts';
import { changeSetting, versionOfSetting } from '../setting-version.ts';
import type { Setting } from '../setting-version.ts';
import { projectOfSeenAgent, requireAgentAdmin } from './agents.ts';
import type { AgentDeps } from './agents.ts';

export interface AgentCredentialDeps extends AgentDeps {
  readonly credentials: CredentialStore;
}

const ownerOf = (agent: string): CredentialOwner => ({ kind: 'agent', id: agent });

const settingOf = (agent: string, name: string): Setting => ({
  table: 'credentials',
  key: ['agent', agent, name],
  what: `credential ${name} of agent "${agent}"`,
});

/** Name of the row that a definition refers to. */
const rowName = (reference: string): string => reference.slice('vault:'.length);

/**
 * Sets or replaces what an agent logs in with. From here on it is never shown again.
 * @param seen the version that the caller saw; 0: there was none
 * @returns the version after it
 * @throws CodedError `agent_unknown`, `forbidden`, `version_conflict`, `request_invalid` without a master key
 */
export async function setAgentCredential(
  deps: AgentCredentialDeps,
  person: Person,
  agent: string,
  name: string,
  value: string,
  seen: number,
): Promise<number> {
  return deps.database.transaction(async (tx) => {
    const project = await projectOfAgent(tx, person, agent);
    const version = await changeSetting(tx, settingOf(agent, name), seen, async () => {
      await deps.credentials.set(tx, ownerOf(agent), name, value, person.subject);
    });
    const body = { owner: `spiffe://lemniscate/agent/${agent}`, credential: name, version };
    await tell(deps, tx, project, { type: 'credential.changed', subject: person.subject, body });
    return version;
  });
}

/** @throws CodedError `agent_unknown`, `forbidden`, `not_found`, `version_conflict` */
export async function removeAgentCredential(
  deps: AgentCredentialDeps,
  person: Person,
  agent: string,
  name: string,
  seen: number,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const project = await projectOfAgent(tx, person, agent);
    const setting = settingOf(agent, name);
    if ((await versionOfSetting(tx, setting)) === 0)
      throw new CodedError('not_found', `Agent "${agent}" has no credential ${name}.`, { agent, name });
    await changeSetting(tx, setting, seen, async () => {
      await deps.credentials.remove(tx, ownerOf(agent), name);
    });
    const body = { owner: `spiffe://lemniscate/agent/${agent}`, credential: name };
    await tell(deps, tx, project, { type: 'credential.removed', subject: person.subject, body });
  });
}

/** Names, never values. @throws CodedError `agent_unknown`, `forbidden` */
export async function listAgentCredentials(
  deps: AgentCredentialDeps,
  person: Person,
  agent: string,
): Promise<CredentialView[]> {
  await projectOfAgent(deps.database, person, agent, 'auditor');
  return deps.credentials.list(deps.database, ownerOf(agent));
}

async function projectOfAgent(
  tx: Transaction,
  person: Person,
  agent: string,
  ...also: readonly 'auditor'[]
): Promise<string> {
  const project = await projectOfSeenAgent(tx, person, agent);
  requireAgentAdmin(person, project, 'handle the credentials of this agent', ...also);
  return project;
}

async function tell(deps: AgentDeps, tx: Transaction, project: string, draft: AuditDraft): Promise<void> {
  await deps.audit.append(tx, project === everyProject ? fleetChain : reviewChain(project), [draft]);
}

type NamedCredentials = Partial<Pick<AgentDefinition, 'credentials'>>;

/**
 * Whether a session of the project may have the agent's credentials: the policy names each, and each has a value.
 * @throws CodedError `credential_refused`, `credential_missing`
 */
export async function checkCredentials(
  tx: Transaction,
  store: CredentialStore,
  policy: Pick<Policy, 'credentials'>,
  agent: { readonly id: string; readonly definition: NamedCredentials },
): Promise<void> {
  const wanted = agent.definition.credentials ?? [];
  if (wanted.length === 0) return;
  const refused = wanted.map(({ name }) => name).filter((name) => !policy.credentials?.includes(name));
  if (refused.length > 0)
    throw new CodedError(
      'credential_refused',
      `Agent "${agent.id}" has credentials that the project's policy does not name: ${refused.join(', ')}. Its administrator can add them to "credentials", or take another agent.`,
      { agent: agent.id, refused },
    );
  const known = await store.list(tx, ownerOf(agent.id));
  const missing = wanted
    .map(({ reference }) => rowName(reference))
    .filter((name) => !known.some((row) => row.name === name));
  if (missing.length > 0)
    throw new CodedError(
      'credential_missing',
      `No value is set for ${missing.join(', ')} of agent "${agent.id}". Set it with "lemniscate agents credentials set ${agent.id} NAME", or take it out of the definition.`,
      { agent: agent.id, missing },
    );
}

/**
 * The values that a session's commands get, by variable, for its order and nothing else.
 * @throws CodedError `credential_missing`, `storage_failed`
 */
export async function openCredentials(
  tx: Transaction,
  store: CredentialStore,
  session: { readonly agent: string; readonly agent_definition: NamedCredentials },
): Promise<Readonly<Record<string, string>>> {
  const wanted = session.agent_definition.credentials ?? [];
  if (wanted.length === 0) return {};
  const names = [...new Set(wanted.map(({ reference }) => rowName(reference)))];
  const opened = await store.open(tx, ownerOf(session.agent), names);
  return Object.fromEntries(wanted.map(({ name, reference }) => [name, opened[rowName(reference)] ?? '']));
}
