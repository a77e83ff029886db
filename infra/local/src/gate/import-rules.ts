import type { SourceImport, WorkspaceFolder } from './source-imports.ts';
import { workspaceOf } from './source-imports.ts';

/** Which workspaces a workspace may import, beside itself. Services meet over HTTP, clients use the public API. */
const workspaceRules: Readonly<Record<WorkspaceFolder, readonly WorkspaceFolder[]>> = {
  shared: [],
  'services/dispatcher': ['shared', 'infra/telemetry'],
  'services/agent-server': ['shared', 'infra/telemetry'],
  'services/audit-exporter': ['shared', 'infra/telemetry'],
  'clients/api': [],
  'clients/cli': ['shared', 'clients/api'],
  'clients/console': ['shared', 'clients/api'],
  // the types of the API are written from the routes of the dispatcher
  'infra/local': ['shared', 'clients/api', 'clients/cli', 'services/dispatcher'],
  'infra/observability': ['shared'],
  'infra/telemetry': ['shared'],
  'infra/terraform': [],
  // a benchmark measures parts of a service where the whole would hide the figure
  'load-tests': [
    'shared',
    'infra/local',
    'clients/cli',
    'services/dispatcher',
    'services/agent-server',
    'services/audit-exporter',
  ],
};

/** Which layers a layer of a service may import, beside itself. `main.ts` may import all and is imported by none. */
const layerRules: Readonly<Record<string, readonly string[]>> = {
  http: ['application', 'domain'],
  jobs: ['application', 'domain'],
  application: ['domain'],
  domain: [],
  adapters: ['application', 'domain'],
};

/** What `shared` may take from Node: digests and types, nothing that reads or writes. */
const sharedBuiltins = ['node:crypto', 'node:util'];

/** Why an import is not allowed; undefined when it is. */
export function importFault(one: SourceImport): string | undefined {
  const from = workspaceOf(one.file);
  if (from === undefined) return 'lies in no workspace';
  if (from === 'shared' && one.specifier.startsWith('node:') && !sharedBuiltins.includes(one.specifier))
    return `shared is pure: of Node it may import ${sharedBuiltins.join(' and ')} alone`;
  if (one.target === undefined) return undefined;
  const to = workspaceOf(one.target);
  if (to === undefined) return 'leaves the workspaces';
  if (to !== from) {
    if (one.specifier.startsWith('.')) return `reaches into ${to} by path; import it by its package name`;
    return workspaceRules[from].includes(to) ? undefined : `${from} must not know ${to}`;
  }
  return from.startsWith('services/') ? layerFault(layerOf(one.file), layerOf(one.target)) : undefined;
}

function layerFault(from: string, to: string): string | undefined {
  if (to === 'main.ts') return 'nothing imports main.ts';
  const allowed = layerRules[from];
  if (allowed === undefined || layerRules[to] === undefined || from === to) return undefined;
  return allowed.includes(to) ? undefined : `${from} must not import ${to}`;
}

/** First part of a path below `src`: a layer's folder, or a file such as `main.ts`. */
function layerOf(path: string): string {
  return path.split('/src/')[1]?.split('/')[0] ?? '';
}
