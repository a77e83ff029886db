import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import { roles } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { scopes } from '@lemniscate/shared/identity/scopes.ts';
import type { Scope } from '@lemniscate/shared/identity/scopes.ts';
import { api } from '../api/client.ts';
import { useAct, useProjects } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { FormDialog, SecretDialog } from '../parts/dialog.tsx';
import { moment } from '../parts/format.ts';
import { Badge, Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';

const key = ['tokens'] as const;

/** Tokens with which programs come; each ends, and each is shown once. */
export function Tokens(): ReactNode {
  const [making, setMaking] = useState(false);
  const [now] = useState(() => Date.now());
  const tokens = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/tokens')).then((answer) => answer.tokens),
  });
  const revoke = useAct(
    (id: string) => ask(api.DELETE('/v1/tokens/{tokenId}', { params: { path: { tokenId: id } } })),
    [key],
  );
  return (
    <Card title="Tokens of programs" aside={<Button onClick={() => setMaking(true)}>New token</Button>} flush>
      <Loaded query={tokens} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="lock" title="No program may come" />
          ) : (
            <DataTable
              columns={[
                { title: 'Name' },
                { title: 'May', wide: true },
                { title: 'Where' },
                { title: 'Used last' },
                { title: 'Ends' },
                actsColumn,
              ]}
              rows={list.map((token) => ({
                key: token.id,
                cells: [
                  shownLine(token.name),
                  <span key="m" title={token.scopes.join('\n')}>
                    {token.roles.join(', ').replaceAll('_', ' ')}: {token.scopes.join(', ')}
                  </span>,
                  token.project === '*' ? 'every project' : token.project,
                  token.usedAt === null ? 'never' : moment(token.usedAt),
                  moment(token.expiresAt),
                  token.revokedAt !== null || Date.parse(token.expiresAt) < now ? (
                    <Badge key="r">{token.revokedAt === null ? 'expired' : 'revoked'}</Badge>
                  ) : (
                    <Button
                      key="r"
                      look="danger"
                      aria-label={`Revoke ${token.name}`}
                      disabled={revoke.isPending}
                      onClick={() => revoke.mutate(token.id)}
                    >
                      Revoke
                    </Button>
                  ),
                ],
              }))}
            />
          )
        }
      </Loaded>
      {making ? <NewToken onClose={() => setMaking(false)} /> : null}
    </Card>
  );
}

function NewToken({ onClose }: { onClose: () => void }): ReactNode {
  const projects = useProjects().data ?? [];
  const [name, setName] = useState('');
  const [project, setProject] = useState('*');
  const [role, setRole] = useState<Role>('member');
  const [chosen, setChosen] = useState<readonly Scope[]>(['sessions:read', 'sessions:write']);
  const [days, setDays] = useState('90');
  const make = useAct(
    () =>
      ask(
        api.POST('/v1/tokens', {
          body: {
            name: name.trim(),
            project,
            roles: [role],
            scopes: [...chosen],
            expiresInDays: Number(days),
          },
        }),
      ),
    [key],
  );
  if (make.data !== undefined)
    return (
      <SecretDialog
        title="The token is there"
        secrets={[{ label: 'Token', value: make.data.token }]}
        onClose={onClose}
      >
        It works until {moment(make.data.expiresAt)} and is not shown again.
      </SecretDialog>
    );
  return (
    <FormDialog
      title="New token"
      act={make}
      submit={() => make.mutate()}
      submitWord="Create token"
      ready={name.trim() !== '' && chosen.length > 0}
      onClose={onClose}
    >
      <label className="field">
        <span>What it is for</span>
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
          <span>Role</span>
          <select
            className="input"
            value={role}
            onChange={(event) => setRole(roles.find((one) => one === event.target.value) ?? role)}
          >
            {roles.map((one) => (
              <option key={one} value={one}>
                {one.replaceAll('_', ' ')}
              </option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>Where</span>
          <select className="input" value={project} onChange={(event) => setProject(event.target.value)}>
            <option value="*">every project</option>
            {projects.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Days</span>
          <input
            className="input"
            type="number"
            min={1}
            max={366}
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </label>
      </div>
      <fieldset>
        <legend className="label">Scopes</legend>
        <div className="scope-grid">
          {scopes.map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={() =>
                  setChosen(
                    chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope],
                  )
                }
              />
              <code>{scope}</code>
            </label>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
