import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { faultOfFolder, folderPathSchema, skillBounds } from '@lemniscate/shared/agents/folder.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import {
  readSkillDocument,
  skillDocumentName,
  skillNameSchema,
} from '@lemniscate/shared/agents/skill-document.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

interface LocalFile extends FolderFile {
  readonly content: Buffer;
}

/** Reads a skill's folder; links and devices are refused rather than followed. @throws CodedError `request_invalid` */
async function readSkillFolder(folder: string): Promise<LocalFile[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CodedError('request_invalid', `${folder} cannot be read: ${error.code ?? error.message}.`);
  });
  const files: LocalFile[] = [];
  for (const name of names.toSorted()) {
    if (name.split('/').some((part) => part === '.git' || part === '.DS_Store')) continue;
    const facts = await lstat(join(folder, name));
    if (facts.isDirectory()) continue;
    if (!facts.isFile())
      throw new CodedError('request_invalid', `${name} is a link or a device; a skill has plain files.`);
    if (facts.size > skillBounds.fileBytes)
      throw new CodedError(
        'request_invalid',
        `${name} has ${facts.size} bytes; at most ${skillBounds.fileBytes} are taken.`,
      );
    const path = folderPathSchema.safeParse(name);
    if (!path.success)
      throw new CodedError('request_invalid', `${makeVisible(name)} is no name that a skill can have.`);
    const content = await readFile(join(folder, name));
    files.push({
      path: path.data,
      sha256: createHash('sha256').update(content).digest('hex'),
      bytes: content.length,
      content,
    });
    if (files.length > skillBounds.files) break;
  }
  const fault = faultOfFolder(files, skillBounds);
  if (fault !== null) throw new CodedError('request_invalid', `${folder}: ${fault}.`);
  return files;
}

async function upload(client: ApiClient, project: string, file: LocalFile): Promise<void> {
  if (file.bytes === 0) return;
  const { sha256, bytes } = file;
  const answer = await ask(
    client.api.POST('/v1/uploads', { params: { query: { project } }, body: { sha256, bytes } }),
  );
  if (answer.put === null) return;
  const sent = await fetch(answer.put.url, {
    method: 'PUT',
    headers: answer.put.headers,
    body: new Uint8Array(file.content),
  });
  if (!sent.ok)
    throw new CodedError(
      'storage_failed',
      `${file.path} could not be sent: the store answered ${sent.status}.`,
    );
  await ask(
    client.api.POST('/v1/uploads/{uploadId}/complete', { params: { path: { uploadId: answer.uploadId } } }),
  );
}

/** The newest version; 0 where the project has no such skill. */
async function newestVersion(client: ApiClient, project: string, name: string): Promise<number> {
  const { skills } = await ask(
    client.api.GET('/v1/projects/{id}/skills', { params: { path: { id: project } } }),
  );
  return skills.find((skill) => skill.name === name)?.version ?? 0;
}

async function push(folder: string, project: string, onto: string | undefined, io: CommandIo): Promise<void> {
  const name = basename(resolve(folder));
  const files = await readSkillFolder(folder);
  const document = files.find(({ path }) => path === skillDocumentName);
  if (document === undefined)
    throw new CodedError('request_invalid', `${folder} has no ${skillDocumentName}.`);
  // Told here already, before anything is sent.
  readSkillDocument(document.content.toString('utf8'), name, new Set(files.map(({ path }) => path)));
  const client = await connectFleet(io);
  const version = onto === undefined ? await newestVersion(client, project, name) : Number(onto);
  if (!Number.isSafeInteger(version) || version < 0)
    throw new CodedError('request_invalid', `--onto must be a version such as 3; "${onto}" is none.`);
  for (const file of files) await upload(client, project, file);
  const pushed = await ask(
    client.api.PUT('/v1/projects/{id}/skills/{skill}', {
      params: { path: { id: project, skill: name }, header: seenHeader({ version }) },
      body: { files: files.map(({ path: at, sha256, bytes }) => ({ path: at, sha256, bytes })) },
    }),
  );
  io.stdout.write(`${pushed.name} is at version ${pushed.version} (${pushed.files.length} files).\n`);
}

async function pull(
  name: string,
  into: string,
  project: string,
  version: string | undefined,
  io: CommandIo,
): Promise<void> {
  const client = await connectFleet(io);
  const skill = await ask(
    client.api.GET('/v1/projects/{id}/skills/{skill}', {
      params: {
        path: { id: project, skill: name },
        query: { version: version === undefined ? undefined : Number(version) },
      },
    }),
  );
  for (const file of skill.files) {
    // Whatever a fleet answers, it stays below the folder.
    const target = join(into, skillNameSchema.parse(skill.name), folderPathSchema.parse(file.path));
    await mkdir(dirname(target), { recursive: true });
    const content = file.bytes === 0 ? Buffer.alloc(0) : await download(skill.addresses[file.sha256], file);
    await writeFile(target, content);
  }
  io.stdout.write(`${skill.name} version ${skill.version} is in ${join(into, skill.name)}.\n`);
}

async function download(address: string | undefined, file: FolderFile): Promise<Buffer> {
  const answer = address === undefined ? null : await fetch(address);
  const content = answer?.ok === true ? Buffer.from(await answer.arrayBuffer()) : Buffer.alloc(0);
  if (createHash('sha256').update(content).digest('hex') === file.sha256) return content;
  throw new CodedError(
    'digest_mismatch',
    `The store does not have the bytes of ${file.path}. Push the skill again.`,
  );
}

/** `lemniscate skills`: procedures that agents of a project can read. */
export function registerSkills(program: Command, io: CommandIo): void {
  const skills = program.command('skills').description('Pushes, pulls and lists a project’s skills.');
  const withProject = (command: Command): Command => command.option('--project <id>', 'the project', 'local');
  withProject(skills.command('list').description('Lists the skills of a project.'))
    .option('--json', 'as JSON')
    .action(async (options: { project: string; json?: boolean }) => {
      const client = await connectFleet(io);
      const found = await ask(
        client.api.GET('/v1/projects/{id}/skills', { params: { path: { id: options.project } } }),
      );
      if (options.json === true) return printJson(io, found.skills);
      return writeTable(
        io.stdout,
        found.skills.map(({ name, version, description }) => [name, `version ${version}`, description]),
      );
    });
  withProject(skills.command('push').argument('<folder>', 'with a SKILL.md; its name is the skill’s'))
    .description('Makes a version of a skill out of a folder.')
    .option('--onto <version>', 'that the folder is based on; refused where there is a newer one by now')
    .action((folder: string, options: { project: string; onto?: string }) =>
      push(folder, options.project, options.onto, io),
    );
  withProject(skills.command('pull').description('Writes a skill into a folder.').argument('<skill>'))
    .option('--version <number>', 'as it was')
    .option('--into <folder>', 'where its folder is made', '.')
    .action((name: string, options: { project: string; version?: string; into: string }) =>
      pull(name, options.into, options.project, options.version, io),
    );
}
