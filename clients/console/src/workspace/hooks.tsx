import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useProjects } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { FormDialog, SecretDialog } from '../parts/dialog.tsx';
import { Badge, Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { webhookSources } from './outside.ts';

const key = ['hooks'] as const;

/** Webhooks of other systems that start sessions here. */
export function Hooks(): ReactNode {
  const [making, setMaking] = useState(false);
  const hooks = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/hooks')).then((answer) => answer.hooks),
  });
  const remove = useAct(
    ({ id, version }: { id: string; version: number }) =>
      ask(
        api.DELETE('/v1/hooks/{hook}', {
          params: { path: { hook: id }, header: seenHeader({ version }) },
        }),
      ),
    [key],
  );
  return (
    <Card
      title="Webhooks that come in"
      aside={<Button onClick={() => setMaking(true)}>New webhook</Button>}
      flush
    >
      <Loaded query={hooks} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="download" title="No system outside may ask">
              GitHub, GitLab and Slack send here what is signed with the secret of a webhook.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Name' },
                { title: 'System' },
                { title: 'Project' },
                { title: 'Address', wide: true },
                { title: 'State' },
                actsColumn,
              ]}
              rows={list.map((hook) => ({
                key: hook.id,
                cells: [
                  shownLine(hook.definition.name),
                  hook.source,
                  hook.project,
                  <code key="u" title={hook.url}>
                    {shownLine(hook.url)}
                  </code>,
                  <span key="s" title={shownLine(hook.disabledReason ?? '')}>
                    <Badge tone={hook.enabled ? 'green' : 'red'}>{hook.enabled ? 'on' : 'off'}</Badge>
                  </span>,
                  <Button
                    key="r"
                    look="danger"
                    aria-label={`Remove ${hook.definition.name}`}
                    disabled={remove.isPending}
                    onClick={() => remove.mutate(hook)}
                  >
                    Remove
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
      {making ? <NewHook onClose={() => setMaking(false)} /> : null}
    </Card>
  );
}

function NewHook({ onClose }: { onClose: () => void }): ReactNode {
  const projects = useProjects().data ?? [];
  const [chosen, setProject] = useState('');
  // Until they are read there is none.
  const project = chosen === '' ? (projects[0]?.id ?? '') : chosen;
  const [source, setSource] = useState<(typeof webhookSources)[number]>('github');
  const [name, setName] = useState('');
  const make = useAct(
    () =>
      ask(
        api.POST('/v1/hooks', {
          body: {
            project,
            source,
            definition: { name: name.trim() },
          },
        }),
      ),
    [key],
  );
  if (make.data !== undefined)
    return (
      <SecretDialog
        title="The webhook is there"
        secrets={[
          { label: 'Address', value: make.data.url },
          { label: 'Secret', value: make.data.secret },
        ]}
        onClose={onClose}
      >
        Name this address and this secret to {make.data.source}. The secret is not shown again.
      </SecretDialog>
    );
  return (
    <FormDialog
      title="New webhook"
      act={make}
      submit={() => make.mutate()}
      submitWord="Create webhook"
      ready={name.trim() !== '' && project !== ''}
      onClose={onClose}
    >
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          data-first
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <div className="row">
        <label className="field grow">
          <span>System</span>
          <select
            className="input"
            value={source}
            onChange={(event) =>
              setSource(webhookSources.find((one) => one === event.target.value) ?? source)
            }
          >
            {webhookSources.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>Project</span>
          <select className="input" value={project} onChange={(event) => setProject(event.target.value)}>
            {projects.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
      </div>
    </FormDialog>
  );
}
