import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** One import of a source file. */
export interface SourceImport {
  /** Importing file, from the project root. */
  readonly file: string;
  /** As written. */
  readonly specifier: string;
  /** Imported file from the project root where it is one of ours; undefined for packages and builtins. */
  readonly target: string | undefined;
}

/** Where the code of the workspaces lies, and the name by which others import it. */
export const workspaceFolders = {
  shared: '@lemniscate/shared',
  'services/dispatcher': '@lemniscate/dispatcher',
  'services/agent-server': '@lemniscate/agent-server',
  'services/audit-exporter': '@lemniscate/audit-exporter',
  'clients/api': '@lemniscate/api',
  'clients/cli': '@lemniscate/cli',
  'clients/console': '@lemniscate/console',
  'infra/local': '@lemniscate/local',
  'infra/observability': '@lemniscate/observability',
  'infra/telemetry': '@lemniscate/telemetry',
  'infra/terraform': '@lemniscate/terraform',
  'load-tests': '@lemniscate/load-tests',
} as const;
export type WorkspaceFolder = keyof typeof workspaceFolders;

/** The workspace that a path from the project root lies in. */
export function workspaceOf(path: string): WorkspaceFolder | undefined {
  return (Object.keys(workspaceFolders) as WorkspaceFolder[]).find((folder) => path.startsWith(`${folder}/`));
}

/** Source files of all workspaces, tests and their helpers left out. */
export function sourceFiles(projectRoot: string): string[] {
  return Object.keys(workspaceFolders)
    .flatMap((folder) => globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: projectRoot }))
    .filter((file) => !/\.test\.ts$|\/(testing|fixtures|fuzz)\//.test(file));
}

// the formatter gives every import one of these shapes
const importPattern =
  /(?:^|\n)\s*(?:import|export)\b[^;'"]*?\bfrom\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;

/** Reads the imports of one text. */
export function importsOf(text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Reads the imports of a file and finds what of ours they name. */
export function readImports(projectRoot: string, file: string): SourceImport[] {
  return importsOf(readFileSync(join(projectRoot, file), 'utf8')).map((specifier) => ({
    file,
    specifier,
    target: resolveOwn(projectRoot, file, specifier),
  }));
}

function resolveOwn(projectRoot: string, file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(projectRoot, join(projectRoot, dirname(file), specifier));
  const owner = Object.entries(workspaceFolders).find(([, name]) => specifier.startsWith(`${name}/`));
  return owner === undefined ? undefined : `${owner[0]}/src/${specifier.slice(owner[1].length + 1)}`;
}
