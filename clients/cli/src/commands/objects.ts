import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf, QueryOf } from '@lemniscate/api/client.ts';
import type { CommentView, ObjectView } from '@lemniscate/shared/api/object.ts';
import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

function showObjects(io: CommandIo, objects: readonly ObjectView[]): void {
  const rows = objects.map(({ id, type, status, assignee, title }) => [
    id,
    type,
    status,
    assignee === null ? 'nobody' : `${assignee.kind} ${assignee.id}`,
    title,
  ]);
  writeTable(io.stdout, rows);
}

interface ListOptions {
  readonly project?: string;
  readonly status?: string;
  readonly assignee?: string;
  readonly limit: string;
  readonly json?: boolean;
}

async function listObjects(io: CommandIo, options: ListOptions): Promise<void> {
  const { json, ...filters } = options;
  const query = { ...filters, limit: Number(filters.limit) };
  const found = await ask((await connectFleet(io)).api.GET('/v1/objects', { params: { query } }));
  if (json === true) return printJson(io, found);
  showObjects(io, found.objects);
  if (found.nextCursor !== null) io.stderr.write('There are more: raise --limit, or narrow the list.\n');
}

async function readComments(client: ApiClient, id: string): Promise<CommentView[]> {
  const comments: CommentView[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: QueryOf<'/v1/objects/{object}/comments', 'get'> = {
      limit: 100,
      ...(cursor === '' ? {} : { cursor }),
    };
    const page: { comments: CommentView[]; nextCursor: string | null } = await ask(
      client.api.GET('/v1/objects/{object}/comments', { params: { path: { object: id }, query } }),
    );
    comments.push(...page.comments);
    cursor = page.nextCursor;
  }
  return comments;
}

async function showThread(io: CommandIo, id: string, asJson: boolean): Promise<void> {
  const client = await connectFleet(io);
  const object = await ask(client.api.GET('/v1/objects/{object}', { params: { path: { object: id } } }));
  const comments = await readComments(client, id);
  if (asJson) return printJson(io, { ...object, comments });
  showObjects(io, [object]);
  if (object.url !== null) io.stdout.write(`${makeVisibleLine(object.url)}\n`);
  if (object.body !== '') io.stdout.write(`\n${makeVisible(object.body)}\n`);
  for (const { id: comment, createdBy, createdAt, body } of comments)
    io.stdout.write(
      `\n${comment}  ${createdBy.kind} ${makeVisibleLine(createdBy.id)}  ${createdAt}\n${makeVisible(body)}\n`,
    );
  for (const file of object.files)
    io.stdout.write(
      `\nfile ${makeVisibleLine(file.path)}: lemniscate files ${file.session} '${makeVisibleLine(file.path)}'\n`,
    );
}

/** Changes an object as it is now; whoever is faster wins, and the command says so. */
async function change(
  io: CommandIo,
  id: string,
  body: BodyOf<'/v1/objects/{object}', 'patch'>,
): Promise<void> {
  const client = await connectFleet(io);
  const path = { object: id };
  const seen = await ask(client.api.GET('/v1/objects/{object}', { params: { path } }));
  const params = { path, header: seenHeader(seen) };
  showObjects(io, [await ask(client.api.PATCH('/v1/objects/{object}', { params, body }))]);
}

function assigneeOf(options: { readonly agent?: string; readonly person?: string }) {
  if (options.agent !== undefined) return { kind: 'agent' as const, id: options.agent };
  return options.person === undefined ? null : { kind: 'person' as const, id: options.person };
}

async function setRepository(client: ApiClient, project: string, url: string | undefined): Promise<void> {
  const path = `/v1/projects/${encodeURIComponent(project)}/workspace`;
  const before = await client.open(path);
  const etag = before.headers.get('etag') ?? '"0"';
  await before.body?.cancel();
  await ask(
    client.api.PUT('/v1/projects/{id}/workspace', {
      params: { path: { id: project }, header: { 'if-match': etag } },
      body: { repository: url === undefined ? null : { kind: 'git', url } },
    }),
  );
}

/** `lemniscate objects`: what people and agents work on together. */
export function registerObjects(program: Command, io: CommandIo): void {
  const objects = program
    .command('objects')
    .description('Lists, creates and changes what people and agents work on together.');
  objects
    .command('list')
    .description('Lists objects.')
    .option('--project <id>', 'of this project alone')
    .option('--status <word>', 'of this status alone')
    .option('--assignee <id>', 'an agent, or a person’s subject')
    .option('--limit <number>', 'at most so many', '50')
    .option('--json', 'as JSON')
    .action((options: ListOptions) => listObjects(io, options));
  objects
    .command('show')
    .description('Shows an object with its thread and files.')
    .argument('<object>')
    .option('--json', 'the object and its comments as JSON')
    .action((id: string, options: { json?: boolean }) => showThread(io, id, options.json === true));
  objects
    .command('create')
    .description('Creates an object.')
    .argument('<title>')
    .option('--project <id>', 'the project', 'local')
    .option('--type <word>', 'what it is', 'task')
    .option('--body <text>', 'what it says', '')
    .option('--agent <id>', 'gives it to an agent, which starts a session')
    .option('--person <subject>', 'gives it to a person')
    .action(
      async (
        title: string,
        options: { project: string; type: string; body: string; agent?: string; person?: string },
      ) => {
        const { project, type, body } = options;
        const wanted = { title, project, type, body, assignee: assigneeOf(options) };
        const client = await connectFleet(io);
        showObjects(io, [await ask(client.api.POST('/v1/objects', { body: wanted }))]);
      },
    );
  objects
    .command('status')
    .description('Changes the status of an object.')
    .argument('<object>')
    .argument('<status>')
    .action((id: string, status: string) => change(io, id, { status }));
  objects
    .command('assign')
    .description(
      'Gives an object to an agent, which starts a session, or to a person; with neither to nobody.',
    )
    .argument('<object>')
    .option('--agent <id>', 'the agent that works on it')
    .option('--person <subject>', 'the person who does')
    .action((id: string, options: { agent?: string; person?: string }) =>
      change(io, id, { assignee: assigneeOf(options) }),
    );
  registerThread(objects, io);
}

function registerThread(objects: Command, io: CommandIo): void {
  objects
    .command('comment')
    .description('Comments on an object; "@agent" asks the agent.')
    .argument('<object>')
    .argument('<text>')
    .option('--reply-to <comment>', 'answers a comment; an agent’s goes on in a new session')
    .action(async (id: string, body: string, { replyTo }: { replyTo?: string }) => {
      const client = await connectFleet(io);
      const written = await ask(
        client.api.POST('/v1/objects/{object}/comments', {
          params: { path: { object: id } },
          body: { body, ...(replyTo === undefined ? {} : { replyTo }) },
        }),
      );
      io.stdout.write(`${written.id}\n`);
    });
  objects
    .command('history')
    .description('Says who did what, the newest first.')
    .argument('<object>')
    .action(async (id: string) => {
      const client = await connectFleet(io);
      const { acts } = await ask(
        client.api.GET('/v1/objects/{object}/history', {
          params: { path: { object: id }, query: { limit: 100 } },
        }),
      );
      writeTable(
        io.stdout,
        acts.map(({ at, act, by, detail }) => [at, act, `${by.kind} ${by.id}`, JSON.stringify(detail)]),
      );
    });
  objects
    .command('repository')
    .description(
      'Sets what a project’s sessions work on where nothing else says it; without an address nothing.',
    )
    .argument('<project>')
    .argument('[url]')
    .action(async (project: string, url: string | undefined) => {
      await setRepository(await connectFleet(io), project, url);
      io.stdout.write(url === undefined ? 'None is set.\n' : 'Set.\n');
    });
}
