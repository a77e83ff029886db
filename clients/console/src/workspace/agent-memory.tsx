import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { bytes, moment, plural, shortId } from '../parts/format.ts';
import { Badge, Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { useProjectChoice } from '../parts/project-select.tsx';
import { toast } from '../parts/toasts.tsx';
import { shownLine } from '../session/plain-text.ts';

/** What an agent remembers of a project: its files, what waits for a person's look, and former versions. */
export function AgentMemory({ agent }: { agent: string }): ReactNode {
  const { project, choice } = useProjectChoice();
  return (
    <Card title="Memory" aside={choice} flush>
      {project === '' ? null : <Memory agent={agent} project={project} key={project} />}
    </Card>
  );
}

function Memory({ agent, project }: { agent: string; project: string }): ReactNode {
  const params = { path: { id: project, agent } };
  const key = ['memory', project, agent];
  const memory = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/projects/{id}/agents/{agent}/memory', { params })),
  });
  const versions = useQuery({
    queryKey: [...key, 'versions'],
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/agents/{agent}/memory/versions', { params })).then(
        (answer) => answer.versions,
      ),
  });
  const restore = useAct(
    (version: number) =>
      ask(
        api.POST('/v1/projects/{id}/agents/{agent}/memory/restore', {
          params: { ...params, header: seenHeader(memory.data) },
          body: { version },
        }),
      ),
    [key],
    (_answer, version) => toast(`The memory is as version ${version} was.`),
  );
  return (
    <>
      <Proposals agent={agent} project={project} />
      <Loaded query={memory} rows={3}>
        {(view) =>
          view.files.length === 0 ? (
            <Empty icon="file" title="It remembers nothing of this project" />
          ) : (
            <DataTable
              columns={[
                { title: 'File', wide: true },
                { title: 'Size', right: true },
                { title: 'Written by' },
                { title: 'When', right: true },
              ]}
              rows={view.files.map((file) => ({
                key: file.path,
                cells: [
                  <span key="p" className="mono">
                    {shownLine(file.path)}
                  </span>,
                  bytes(file.bytes),
                  file.session === null ? (
                    'a person'
                  ) : (
                    <Link key="s" href={`/sessions/${file.session}`} className="link">
                      {shortId(file.session)}
                    </Link>
                  ),
                  moment(file.at),
                ],
              }))}
            />
          )
        }
      </Loaded>
      {(versions.data ?? []).length < 2 ? null : (
        <div className="card-body row wrap">
          <span className="hint">Former versions:</span>
          {(versions.data ?? [])
            .filter(({ version }) => version !== memory.data?.version)
            .slice(0, 8)
            .map(({ version, changedAt }) => (
              <Button
                key={version}
                disabled={restore.isPending}
                title={changedAt === null ? undefined : moment(changedAt)}
                onClick={() => restore.mutate(version)}
              >
                Restore {version}
              </Button>
            ))}
        </div>
      )}
    </>
  );
}

/** What sessions want remembered, and what is to be carried here from another project: a person looks first. */
function Proposals({ agent, project }: { agent: string; project: string }): ReactNode {
  const params = { path: { id: project, agent } };
  const key = ['memory', project, agent];
  const proposals = useQuery({
    queryKey: [...key, 'proposals'],
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/agents/{agent}/memory/proposals', { params })).then(
        (answer) => answer.proposals,
      ),
  });
  const carries = useQuery({
    queryKey: [...key, 'carries'],
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/agents/{agent}/memory/carries', { params })).then(
        (answer) => answer.carries,
      ),
  });
  const decide = useAct(
    ({ kind, id, decision }: { kind: 'session' | 'carry'; id: string; decision: 'accept' | 'reject' }) =>
      kind === 'session'
        ? ask(
            api.POST('/v1/projects/{id}/agents/{agent}/memory/proposals/{session}', {
              params: { path: { ...params.path, session: id } },
              body: { decision },
            }),
          )
        : ask(
            api.POST('/v1/projects/{id}/agents/{agent}/memory/carries/{carry}', {
              params: { path: { ...params.path, carry: id } },
              body: { decision },
            }),
          ),
    [key],
    ({ version, notices }) => {
      toast(`The memory is at version ${version}.`);
      for (const notice of notices) toast(shownLine(notice));
    },
  );
  const waiting = [
    ...(proposals.data ?? []).map((one) => ({
      kind: 'session' as const,
      id: one.session,
      from: `session ${shortId(one.session)}`,
      files: one.files,
    })),
    ...(carries.data ?? []).map((one) => ({
      kind: 'carry' as const,
      id: one.id,
      from: `project ${one.from}, asked by ${one.askedBy}`,
      files: one.files,
    })),
  ];
  if (waiting.length === 0) return null;
  return (
    <DataTable
      columns={[{ title: 'Waits for a look' }, { title: 'Files', wide: true }, actsColumn]}
      rows={waiting.map((one) => ({
        key: one.id,
        cells: [
          <span key="f">
            <Badge tone="amber">{plural(one.files.length, 'file')}</Badge> from {shownLine(one.from)}
          </span>,
          <span key="l" className="mono">
            {one.files.map(({ path }) => shownLine(path)).join(', ')}
          </span>,
          <span key="a" className="row">
            <Button
              look="primary"
              disabled={decide.isPending}
              onClick={() => decide.mutate({ kind: one.kind, id: one.id, decision: 'accept' })}
            >
              Remember
            </Button>
            <Button
              disabled={decide.isPending}
              onClick={() => decide.mutate({ kind: one.kind, id: one.id, decision: 'reject' })}
            >
              Reject
            </Button>
          </span>,
        ],
      }))}
    />
  );
}
