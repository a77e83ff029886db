import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { CostBudget } from '@lemniscate/shared/costs/cost-report.ts';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { usd } from '../parts/format.ts';
import { Badge, Button, Card, Loaded } from '../parts/parts.tsx';

const tones = { ok: 'green', warning: 'amber', exhausted: 'red' } as const;
const fills = { ok: '', warning: 'amber', exhausted: 'red' } as const;

/** Budgets of the calendar month, with what sessions hold of them. */
export function Budgets(): ReactNode {
  const [editing, setEditing] = useState<Pick<CostBudget, 'scope' | 'name' | 'amountUsd' | 'version'> | null>(
    null,
  );
  const maySet = useHasRole('finops', 'administrator');
  const budgets = useQuery({
    queryKey: ['costs', 'budgets'],
    queryFn: () => ask(api.GET('/v1/costs/budgets')).then((answer) => answer.budgets),
  });
  return (
    <Card
      title="Budgets this month"
      aside={
        maySet ? (
          <Button
            icon="plus"
            onClick={() => setEditing({ scope: 'project', name: '', amountUsd: '', version: 0 })}
          >
            Set
          </Button>
        ) : null
      }
    >
      <Loaded query={budgets} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <p className="faint">No budget is set. Without one nothing stops a project from spending.</p>
          ) : (
            <ul className="stack" style={{ gap: 14 }}>
              {list.map((budget) => (
                <BudgetLine
                  key={`${budget.scope}/${budget.name}`}
                  budget={budget}
                  onEdit={maySet ? () => setEditing(budget) : undefined}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing === null ? null : (
        <SetBudget before={editing} known={budgets.data ?? []} onClose={() => setEditing(null)} />
      )}
    </Card>
  );
}

function BudgetLine({ budget, onEdit }: { budget: CostBudget; onEdit: (() => void) | undefined }): ReactNode {
  const share = Math.min(1, Number(budget.grantedUsd) / Number(budget.amountUsd));
  return (
    <li className="stack" style={{ gap: 5 }}>
      <div className="spread">
        <span className="row">
          <strong style={{ fontWeight: 500 }}>{budget.name}</strong>
          {budget.scope === 'agent' ? <Badge>agent</Badge> : null}
          <Badge tone={tones[budget.state]}>{budget.state}</Badge>
        </span>
        <span className="num muted">
          {usd(budget.grantedUsd)} of {usd(budget.amountUsd)}
          {onEdit === undefined ? null : (
            <button type="button" className="link-button" style={{ marginLeft: 8 }} onClick={onEdit}>
              Change
            </button>
          )}
        </span>
      </div>
      <div className="bar">
        <i className={fills[budget.state]} style={{ width: `${share * 100}%` }} />
      </div>
    </li>
  );
}

function SetBudget({
  before,
  known,
  onClose,
}: {
  before: Pick<CostBudget, 'scope' | 'name' | 'amountUsd' | 'version'>;
  known: readonly CostBudget[];
  onClose: () => void;
}): ReactNode {
  const [scope, setScope] = useState(before.scope);
  const [name, setName] = useState(before.name);
  const [amount, setAmount] = useState(before.amountUsd);
  // Another budget than the one that was opened has another version; none at all is 0.
  const seen = (): { readonly version: number } | undefined => {
    if (before.scope === scope && before.name === name.trim()) return before;
    return known.find((one) => one.scope === scope && one.name === name.trim());
  };
  const set = useAct(
    (amountUsd: string | null) =>
      ask(
        api.PUT('/v1/costs/budgets/{scope}/{name}', {
          params: { path: { scope, name: name.trim() }, header: seenHeader(seen()) },
          body: { amountUsd },
        }),
      ),
    [['costs', 'budgets']],
    onClose,
  );
  return (
    <FormDialog
      title="Budget of a calendar month"
      act={set}
      submit={() => set.mutate(amount.trim())}
      submitWord="Set budget"
      aside={
        before.name === '' ? null : (
          <Button look="danger" disabled={set.isPending} onClick={() => set.mutate(null)}>
            Remove
          </Button>
        )
      }
      onClose={onClose}
    >
      <div className="row" style={{ alignItems: 'flex-end' }}>
        <label className="field">
          <span>Of</span>
          <select
            className="input"
            value={scope}
            onChange={(event) => setScope(event.target.value as typeof scope)}
          >
            <option value="project">project</option>
            <option value="agent">agent</option>
          </select>
        </label>
        <label className="field grow">
          <span>Name</span>
          <input
            className="input"
            data-first
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="field">
          <span>US dollars</span>
          <input
            className="input num"
            required
            inputMode="decimal"
            pattern="\d+(\.\d+)?"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        </label>
      </div>
      <p className="hint">
        Sessions hold slices of it; when nothing is left, no exchange with a model begins.
      </p>
    </FormDialog>
  );
}
