import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { RemoteToolView } from '@lemniscate/shared/api/remote-tool.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { moment } from '../parts/format.ts';
import { CardPage } from '../parts/page.tsx';
import { Badge, Button, Card, Empty, Failure, Loaded } from '../parts/parts.tsx';
import { toast } from '../parts/toasts.tsx';
import { shown, shownLine } from '../session/plain-text.ts';
import { AgentMemory } from './agent-memory.tsx';

/** One agent: what it is, who changed it, what it may call, what it logs in with and what it remembers. */
export function AgentPage({ id }: { id: string }): ReactNode {
  const agent = useQuery({
    queryKey: ['agent', id],
    queryFn: () => ask(api.GET('/v1/agents/{agent}', { params: { path: { agent: id } } })),
  });
  const mayAdminister = useHasRole('project_admin', 'administrator', 'auditor');
  return (
    <Loaded query={agent}>
      {(view) => (
        <CardPage
          title={
            <>
              <Link href="/agents" className="muted">
                Agents
              </Link>
              <span className="faint" aria-hidden="true">
                /
              </span>
              <h1 className="mono">{view.id}</h1>
              <Badge>version {view.version}</Badge>
              {view.definition.disabled ? <Badge tone="red">disabled</Badge> : null}
            </>
          }
          width={920}
        >
          <Card title="What it is told">
            <div className="thread-text">
              {view.definition.systemPrompt === ''
                ? 'Nothing beside the facts.'
                : shown(view.definition.systemPrompt)}
            </div>
          </Card>
          <Card title="Definition">
            <pre>{shown(JSON.stringify({ ...view.definition, systemPrompt: undefined }, null, 2))}</pre>
          </Card>
          <AgentMemory agent={view.id} />
          {(view.definition.mcpServers ?? []).length === 0 ? null : <RemoteTools agent={view.id} />}
          {mayAdminister ? <Credentials agent={view.id} /> : null}
          <Versions agent={view.id} />
        </CardPage>
      )}
    </Loaded>
  );
}

const toolTones = { approved: 'green', new: 'amber', changed: 'red', gone: 'grey' } as const;

function RemoteTools({ agent }: { agent: string }): ReactNode {
  const params = { path: { agent } };
  const key = ['remote-tools', agent];
  const tools = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/agents/{agent}/remote-tools', { params })).then((answer) => answer.tools),
  });
  const look = useAct(
    () => ask(api.POST('/v1/agents/{agent}/remote-tools/look', { params })),
    [key],
    ({ notices = [] }) => {
      for (const notice of notices) toast(shownLine(notice));
    },
  );
  const approve = useAct(
    ({ name, digest }: Pick<RemoteToolView, 'name' | 'digest'>) =>
      ask(
        api.POST('/v1/agents/{agent}/remote-tools/approve', { params, body: { tools: [{ name, digest }] } }),
      ),
    [key],
  );
  return (
    <Card
      title="Tools of its MCP servers"
      aside={
        <Button disabled={look.isPending} onClick={() => look.mutate()}>
          Ask the servers
        </Button>
      }
      flush
    >
      <Loaded query={tools} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="terminal" title="Nobody has asked the servers">
              A tool is used when a person has let it in as it is described.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Tool' },
                { title: 'What it says of itself', wide: true },
                { title: 'State' },
                actsColumn,
              ]}
              rows={list.map((tool) => ({
                key: tool.name,
                cells: [
                  <span key="n" className="mono">
                    {shownLine(tool.name)}
                  </span>,
                  <span
                    key="d"
                    title={shown(`${tool.description}\n${JSON.stringify(tool.inputSchema, null, 2)}`)}
                  >
                    {shownLine(tool.description)}
                  </span>,
                  <Badge key="s" tone={toolTones[tool.state]}>
                    {tool.state}
                  </Badge>,
                  tool.state === 'approved' || tool.state === 'gone' ? null : (
                    <Button key="a" disabled={approve.isPending} onClick={() => approve.mutate(tool)}>
                      Let in
                    </Button>
                  ),
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function Credentials({ agent }: { agent: string }): ReactNode {
  const key = ['credentials', agent];
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const credentials = useQuery({
    queryKey: key,
    queryFn: () =>
      ask(api.GET('/v1/agents/{agent}/credentials', { params: { path: { agent } } })).then(
        (answer) => answer.credentials,
      ),
  });
  const seenOf = (of: string) => seenHeader(credentials.data?.find((one) => one.name === of));
  const set = useAct(
    () =>
      ask(
        api.PUT('/v1/agents/{agent}/credentials/{name}', {
          params: { path: { agent, name: name.trim() }, header: seenOf(name.trim()) },
          body: { value },
        }),
      ),
    [key],
    () => {
      setName('');
      setValue('');
    },
  );
  const remove = useAct(
    (gone: string) =>
      ask(
        api.DELETE('/v1/agents/{agent}/credentials/{name}', {
          params: { path: { agent, name: gone }, header: seenOf(gone) },
        }),
      ),
    [key],
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set.mutate();
  };
  if (credentials.error !== null)
    return (
      <Card title="Credentials">
        <Failure error={credentials.error} />
      </Card>
    );
  return (
    <Card title="Credentials" aside={<span className="hint">nobody can read a value back</span>} flush>
      <Loaded query={credentials} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="lock" title="It logs in nowhere" />
          ) : (
            <DataTable
              columns={[
                { title: 'Variable', wide: true },
                { title: 'Version', right: true },
                { title: 'Set' },
                actsColumn,
              ]}
              rows={list.map((credential) => ({
                key: credential.name,
                cells: [
                  <span key="n" className="mono">
                    {credential.name}
                  </span>,
                  credential.version,
                  `${moment(credential.changedAt)} · ${shownLine(credential.changedBy)}`,
                  <Button
                    key="r"
                    look="danger"
                    aria-label={`Remove ${credential.name}`}
                    disabled={remove.isPending}
                    onClick={() => remove.mutate(credential.name)}
                  >
                    Remove
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
      <form onSubmit={submit} className="row card-body" style={{ alignItems: 'flex-end' }}>
        <label className="field grow">
          <span>Variable</span>
          <input
            className="input mono"
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="field grow">
          <span>Value</span>
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        </label>
        <Button
          type="submit"
          className="large"
          disabled={set.isPending || name.trim() === '' || value === ''}
        >
          Set
        </Button>
      </form>
    </Card>
  );
}

function Versions({ agent }: { agent: string }): ReactNode {
  const versions = useQuery({
    queryKey: ['agent', agent, 'versions'],
    queryFn: () =>
      ask(api.GET('/v1/agents/{agent}/versions', { params: { path: { agent } } })).then(
        (answer) => answer.versions,
      ),
  });
  return (
    <Card title="Versions" flush>
      <Loaded query={versions} rows={2}>
        {(list) => (
          <DataTable
            columns={[
              { title: 'Version' },
              { title: 'By', wide: true },
              { title: 'Digest' },
              { title: 'When', right: true },
            ]}
            rows={list.map(({ version, changedBy, changedAt, digest }) => ({
              key: String(version),
              cells: [
                version,
                shownLine(changedBy),
                <code key="d" className="faint">
                  {digest.slice(0, 16)}
                </code>,
                moment(changedAt),
              ],
            }))}
          />
        )}
      </Loaded>
    </Card>
  );
}
