import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import { isProjectRole, roles } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { api } from '../api/client.ts';
import { useAct, useProjects } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { moment } from '../parts/format.ts';
import { CardPage } from '../parts/page.tsx';
import { Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { AccountLinks } from './account-links.tsx';
import { Tokens } from './tokens.tsx';

type Binding = BodyOf<'/v1/role-bindings', 'put'>;
const key = ['role-bindings'] as const;

/** Who may do what: roles of groups and people, tokens of programs, and accounts of other systems. */
export function AccessPage(): ReactNode {
  return (
    <CardPage title="Access" about="roles of people, tokens of programs, accounts elsewhere" width={980}>
      <Roles />
      <Tokens />
      <AccountLinks />
    </CardPage>
  );
}

function useBindings() {
  return useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/role-bindings')).then((answer) => answer.bindings),
  });
}

function Roles(): ReactNode {
  const bindings = useBindings();
  const unbind = useAct(
    ({ kind, principal, role, project, version }: Binding & { version: number }) =>
      ask(
        api.DELETE('/v1/role-bindings', {
          params: { query: { kind, principal, role, project }, header: seenHeader({ version }) },
        }),
      ),
    [key],
  );
  return (
    <Card title="Roles" flush>
      <Loaded query={bindings} rows={4}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="people" title="No role is bound">
              On a local fleet the login of the machine has every role.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Who', wide: true },
                { title: 'Role' },
                { title: 'Where' },
                { title: 'Bound' },
                actsColumn,
              ]}
              rows={list.map((binding) => ({
                key: `${binding.kind}/${binding.principal}/${binding.role}/${binding.project}`,
                cells: [
                  <span key="w">
                    <span className="muted">{binding.kind}</span>{' '}
                    <span className="mono">{shownLine(binding.principal)}</span>
                  </span>,
                  binding.role.replaceAll('_', ' '),
                  binding.project === '*' ? 'every project' : binding.project,
                  `${moment(binding.boundAt)} · ${shownLine(binding.boundBy)}`,
                  <Button
                    key="u"
                    look="danger"
                    aria-label={`Unbind ${binding.role} of ${binding.principal}`}
                    disabled={unbind.isPending}
                    onClick={() => unbind.mutate(binding)}
                  >
                    Unbind
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
      <BindRole />
    </Card>
  );
}

function BindRole(): ReactNode {
  const projects = useProjects().data ?? [];
  const known = useBindings().data ?? [];
  const [kind, setKind] = useState<'group' | 'person'>('group');
  const [principal, setPrincipal] = useState('');
  const [role, setRole] = useState<Role>('member');
  const [project, setProject] = useState('*');
  const bind = useAct(
    () => {
      const body = { kind, principal: principal.trim(), role, project: isProjectRole(role) ? project : '*' };
      const seen = known.find(
        (one) =>
          one.kind === kind &&
          one.principal === body.principal &&
          one.role === role &&
          one.project === body.project,
      );
      return ask(api.PUT('/v1/role-bindings', { params: { header: seenHeader(seen) }, body }));
    },
    [key],
    () => setPrincipal(''),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    bind.mutate();
  };
  return (
    <form onSubmit={submit} className="row wrap card-body" style={{ alignItems: 'flex-end' }}>
      <label className="field">
        <span>Kind</span>
        <select
          className="input"
          value={kind}
          onChange={(event) => setKind(event.target.value === 'person' ? 'person' : 'group')}
        >
          <option>group</option>
          <option>person</option>
        </select>
      </label>
      <label className="field grow">
        <span>{kind === 'group' ? 'Group of the directory' : 'Subject of the person'}</span>
        <input
          className="input mono"
          maxLength={256}
          spellCheck={false}
          value={principal}
          onChange={(event) => setPrincipal(event.target.value)}
        />
      </label>
      <label className="field">
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
      <label className="field">
        <span>Where</span>
        <select
          className="input"
          value={isProjectRole(role) ? project : '*'}
          disabled={!isProjectRole(role)}
          onChange={(event) => setProject(event.target.value)}
        >
          <option value="*">every project</option>
          {projects.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      <Button
        type="submit"
        look="primary"
        className="large"
        disabled={bind.isPending || principal.trim() === ''}
      >
        Bind
      </Button>
    </form>
  );
}
