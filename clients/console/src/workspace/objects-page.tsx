import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useAgents, useProjects } from '../api/queries.ts';
import { DataTable } from '../parts/data-table.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { CardPage } from '../parts/page.tsx';
import { Age, Badge, Button, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import { useShortcuts } from '../parts/shortcuts.ts';
import { shownLine } from '../session/plain-text.ts';
import { Actor } from './actor.tsx';

const lookEveryMs = 5_000;

/** What people and agents work on together. */
export function ObjectsPage(): ReactNode {
  const [project, setProject] = useState('');
  const [status, setStatus] = useState('open');
  const [making, setMaking] = useState(false);
  const now = useNow(10_000);
  const projects = useProjects().data ?? [];
  const objects = useInfiniteQuery({
    queryKey: ['objects', project, status],
    refetchInterval: lookEveryMs,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET('/v1/objects', {
          params: { query: { ...given({ project, status: status.trim(), cursor: pageParam }), limit: 100 } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.nextCursor,
  });
  useShortcuts({ n: () => setMaking(true) });
  return (
    <CardPage
      title="Objects"
      about="what people and agents work on together"
      tools={
        <>
          <select
            className="input small"
            style={{ width: 'auto' }}
            aria-label="Project"
            value={project}
            onChange={(event) => setProject(event.target.value)}
          >
            <option value="">All projects</option>
            {projects.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
          <input
            className="input small"
            style={{ width: 120 }}
            aria-label="Status"
            placeholder="any status"
            value={status}
            onChange={(event) => setStatus(event.target.value.toLowerCase())}
          />
          <Button look="primary" icon="plus" shortcut="n" onClick={() => setMaking(true)}>
            New object
          </Button>
        </>
      }
    >
      <Card title="Objects" flush>
        <Loaded query={objects} rows={5}>
          {({ pages }) => {
            const list = pages.flatMap((page) => page.objects);
            return list.length === 0 ? (
              <Empty icon="objects" title="There is no such object">
                An object that is assigned to an agent starts a session; so does a comment that names one as
                @agent. Issues of GitHub and GitLab appear here as well.
              </Empty>
            ) : (
              <DataTable
                columns={[
                  { title: 'Status' },
                  { title: 'Title', wide: true },
                  { title: 'Type' },
                  { title: 'Project' },
                  { title: 'Assignee' },
                  { title: 'Changed', right: true },
                ]}
                rows={list.map((object) => ({
                  key: object.id,
                  cells: [
                    <Badge key="s" tone={object.status === 'open' ? 'blue' : 'grey'}>
                      {shownLine(object.status)}
                    </Badge>,
                    <Link key="t" href={`/objects/${object.id}`} className="link">
                      {shownLine(object.title)}
                    </Link>,
                    object.type,
                    object.project,
                    <Actor key="a" actor={object.assignee} />,
                    <Age key="c" at={object.changedAt} now={now} />,
                  ],
                }))}
              />
            );
          }}
        </Loaded>
        {objects.hasNextPage ? (
          <div className="card-body">
            <Button disabled={objects.isFetchingNextPage} onClick={() => void objects.fetchNextPage()}>
              Show more
            </Button>
          </div>
        ) : null}
      </Card>
      {making ? (
        <NewObject
          project={project === '' ? (projects[0]?.id ?? '') : project}
          onClose={() => setMaking(false)}
        />
      ) : null}
    </CardPage>
  );
}

function NewObject({ project, onClose }: { project: string; onClose: () => void }): ReactNode {
  const [, navigate] = useLocation();
  const [chosen, setWhere] = useState(project);
  const [title, setTitle] = useState('');
  const [body, setBody] = useState('');
  const [agent, setAgent] = useState('');
  const projects = useProjects().data ?? [];
  // Until they are read there is none.
  const where = chosen === '' ? (projects[0]?.id ?? '') : chosen;
  const agents = (useAgents().data ?? []).filter((one) => one.project === '*' || one.project === where);
  const make = useAct(
    () =>
      ask(
        api.POST('/v1/objects', {
          body: {
            project: where,
            title: title.trim(),
            body,
            assignee: agent === '' ? null : { kind: 'agent', id: agent },
          },
        }),
      ),
    [['objects']],
    ({ id }) => navigate(`/objects/${id}`),
  );
  return (
    <FormDialog
      title="New object"
      act={make}
      submit={() => make.mutate()}
      submitWord="Create object"
      ready={title.trim() !== '' && where !== ''}
      onClose={onClose}
    >
      <label className="field">
        <span>Title</span>
        <input
          className="input"
          data-first
          required
          maxLength={300}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Text</span>
        <textarea
          className="input"
          rows={5}
          maxLength={65_536}
          value={body}
          onChange={(event) => setBody(event.target.value)}
        />
      </label>
      <div className="row">
        <label className="field grow">
          <span>Project</span>
          <select className="input" value={where} onChange={(event) => setWhere(event.target.value)}>
            {projects.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>Assignee</span>
          <select className="input" value={agent} onChange={(event) => setAgent(event.target.value)}>
            <option value="">nobody</option>
            {agents.map(({ id }) => (
              <option key={id} value={id}>
                agent {id}
              </option>
            ))}
          </select>
        </label>
      </div>
      {agent === '' ? null : <p className="hint">The agent starts a session at once.</p>}
    </FormDialog>
  );
}
