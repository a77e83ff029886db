import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { DataTable } from '../parts/data-table.tsx';
import { bytes, moment, span } from '../parts/format.ts';
import { CardPage } from '../parts/page.tsx';
import { Badge, Button, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import { useProjectChoice } from '../parts/project-select.tsx';
import { shown, shownLine } from '../session/plain-text.ts';

const tones = { building: 'blue', ready: 'green', failed: 'red', expired: 'grey' } as const;

/** What is installed for a project before its sessions: each build with its log, and asking for one. */
export function EnvironmentsPage(): ReactNode {
  const { project, choice } = useProjectChoice();
  return (
    <CardPage title="Environments" about="what is installed before sessions" tools={choice}>
      {project === '' ? null : <Environments project={project} key={project} />}
    </CardPage>
  );
}

function Environments({ project }: { project: string }): ReactNode {
  const now = useNow(2_000);
  const mayBuild = useHasRole('project_admin', 'administrator');
  const environments = useQuery({
    queryKey: ['environments', project],
    refetchInterval: 3_000,
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/environments', { params: { path: { id: project } } })).then(
        (answer) => answer.environments,
      ),
  });
  return (
    <>
      {mayBuild ? <Build project={project} /> : null}
      <Card title="Builds" flush>
        <Loaded query={environments} rows={3}>
          {(list) =>
            list.length === 0 ? (
              <Empty icon="box" title="Nothing was built">
                A policy with an environment has its dependencies installed before its first session.
              </Empty>
            ) : (
              <DataTable
                columns={[
                  { title: 'State' },
                  { title: 'Key' },
                  { title: 'Cause' },
                  { title: 'Size', right: true },
                  { title: 'Took', right: true },
                  { title: 'What went wrong', wide: true },
                  { title: 'Begun' },
                  { title: 'Log', right: true },
                ]}
                rows={list.map((one) => ({
                  key: one.id,
                  cells: [
                    <Badge key="s" tone={tones[one.state]}>
                      {one.state}
                    </Badge>,
                    <code key="k" title={one.key ?? ''}>
                      {one.key?.slice(0, 12) ?? '–'}
                    </code>,
                    one.cause,
                    one.bytes === null ? '–' : bytes(one.bytes),
                    span((one.endedAt === null ? now : Date.parse(one.endedAt)) - Date.parse(one.startedAt)),
                    <span key="m" title={shown(one.message ?? '')}>
                      {shownLine((one.message ?? '–').split('\n')[0] ?? '')}
                    </span>,
                    moment(one.startedAt),
                    <Link key="l" href={`/sessions/${one.session}`} className="link">
                      log
                    </Link>,
                  ],
                }))}
              />
            )
          }
        </Loaded>
      </Card>
    </>
  );
}

function Build({ project }: { project: string }): ReactNode {
  const [url, setUrl] = useState('');
  const build = useAct(
    () =>
      ask(
        api.POST('/v1/projects/{id}/environments', {
          params: { path: { id: project } },
          body: {
            repository: /^[a-z]+:\/\//.test(url.trim())
              ? { kind: 'git', url: url.trim() }
              : { kind: 'path', path: url.trim() },
          },
        }),
      ),
    [['environments', project]],
    () => setUrl(''),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    build.mutate();
  };
  return (
    <Card title="Build one now">
      <form onSubmit={submit} className="row" style={{ alignItems: 'flex-end' }}>
        <label className="field grow">
          <span>Repository: an https or ssh address, or a folder on the servers</span>
          <input
            className="input mono"
            spellCheck={false}
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        </label>
        <Button type="submit" className="large" disabled={build.isPending || url.trim() === ''}>
          Build
        </Button>
      </form>
    </Card>
  );
}
