import { ask } from '@lemniscate/api/client.ts';
import type { PolicyVersion } from '@lemniscate/shared/api/project.ts';
import { createReadStream } from 'node:fs';
import { policyVersionSchema } from '@lemniscate/shared/api/project.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { standardInput } from '../standard-input.ts';
import { connectFleet, printJson } from './context.ts';
import { readPolicyText } from './policy-check.ts';
import { policyCommand } from './policy-judge.ts';

/** `projects`, `projects create`, `policy show`, `policy set`, `policy history`: what an administrator sets up. */
export function registerProjects(program: Command, io: CommandIo): void {
  const projects = program
    .command('projects')
    .description('Lists the projects, with the version of their policy.')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => list(options.json === true, io));
  projects
    .command('create')
    .description('Creates a project; without a policy every tool asks.')
    .argument('<name>')
    .option('--policy <file>', 'its policy; "-" reads standard input')
    .action((name: string, options: { policy?: string }) => create(name, options.policy, io));
  const policy = policyCommand(program);
  policy
    .command('show')
    .description('Shows a project’s policy, as it was written or with every default filled in.')
    .argument('<project>')
    .option('--version <n>', 'an earlier version')
    .option('--effective', 'with every default filled in')
    .option('--json', 'as JSON')
    .action((project: string, options: ShowOptions) => show(project, options, io));
  policy
    .command('set')
    .description('Puts a policy in force for every session that opens from now on; "-" reads standard input.')
    .argument('<project>')
    .argument('<file>')
    .option('--seen <version>', 'refuse when the policy is not at this version any more')
    .action((project: string, file: string, options: { seen?: string }) => set(project, file, options, io));
  policy
    .command('history')
    .description('Lists who changed a project’s policy when, the newest version first.')
    .argument('<project>')
    .option('--json', 'as JSON')
    .action((project: string, options: { json?: boolean }) => history(project, options.json === true, io));
}

async function list(json: boolean, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const { projects } = await ask(client.api.GET('/v1/projects'));
  if (json) return printJson(io, projects);
  writeTable(
    io.stdout,
    projects.map(({ id, policyVersion, policyDigest, createdAt }) => [
      id,
      `policy version ${policyVersion}`,
      policyDigest.slice(0, 12),
      createdAt,
    ]),
  );
}

async function create(id: string, file: string | undefined, io: CommandIo): Promise<void> {
  const policy = file === undefined ? undefined : await readFile(file, io);
  const client = await connectFleet(io);
  const created = await ask(
    client.api.POST('/v1/projects', { body: { id, ...(policy === undefined ? {} : { policy }) } }),
  );
  io.stdout.write(`project ${created.project}, policy version ${created.version} ${created.digest}\n`);
}

interface ShowOptions {
  readonly version?: string;
  readonly effective?: boolean;
  readonly json?: boolean;
}

async function show(project: string, options: ShowOptions, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const found = await ask<PolicyVersion>(
    options.version === undefined
      ? client.api.GET('/v1/projects/{id}/policy', { params: { path: { id: project } } })
      : client.api.GET('/v1/projects/{id}/policies/{version}', {
          params: { path: { id: project, version: Number(options.version) } },
        }),
  );
  if (options.json === true) return printJson(io, found);
  io.stdout.write(
    `# project ${found.project}, version ${found.version}, by ${makeVisible(found.changedBy)} at ${found.changedAt}\n# digest ${found.digest}\n`,
  );
  const text = options.effective === true || found.written === null ? stringify(found.policy) : found.written;
  io.stdout.write(makeVisible(text.endsWith('\n') || text === '' ? text : `${text}\n`));
}

async function set(
  project: string,
  file: string,
  options: { readonly seen?: string },
  io: CommandIo,
): Promise<void> {
  const text = await readFile(file, io);
  const client = await connectFleet(io);
  const seen =
    options.seen ??
    String(
      (await ask(client.api.GET('/v1/projects/{id}/policy', { params: { path: { id: project } } }))).version,
    );
  if (!/^\d{1,9}$/.test(seen)) throw new CodedError('request_invalid', `--seen ${seen} is not a version.`);
  const changed = await client.json(
    `/v1/projects/${encodeURIComponent(project)}/policy`,
    policyVersionSchema,
    {
      method: 'PUT',
      text,
      headers: { 'content-type': 'application/yaml', 'if-match': `"${seen}"` },
    },
  );
  io.stdout.write(
    changed.version === Number(seen)
      ? `The policy says the same as version ${changed.version}; nothing was changed.\n`
      : `policy of ${changed.project} is now version ${changed.version} ${changed.digest}\n`,
  );
}

async function history(project: string, json: boolean, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const { versions } = await ask(
    client.api.GET('/v1/projects/{id}/policies', { params: { path: { id: project } } }),
  );
  if (json) return printJson(io, versions);
  writeTable(
    io.stdout,
    versions.map(({ version, digest, origin, changedBy, changedAt }) => [
      String(version),
      digest.slice(0, 12),
      changedAt,
      origin,
      changedBy,
    ]),
  );
}

function readFile(file: string, io: CommandIo): Promise<string> {
  return readPolicyText(file === '-' ? standardInput(io) : createReadStream(file), file);
}
