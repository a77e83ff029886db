import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { WebhookSourceName } from '@lemniscate/shared/api/trigger.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { moment } from '../parts/format.ts';
import { Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { webhookSources } from '../workspace/outside.ts';

const key = ['account-links'] as const;

/** Which person an account of GitHub, GitLab or Slack is: an event's actor has to be a member. */
export function AccountLinks(): ReactNode {
  const [source, setSource] = useState<WebhookSourceName>('github');
  const [account, setAccount] = useState('');
  const [subject, setSubject] = useState('');
  const links = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/account-links')).then((answer) => answer.links),
  });
  const seen = () =>
    links.data?.find((one) => one.source === source && one.account === account.trim().toLowerCase());
  const link = useAct(
    () =>
      ask(
        api.PUT('/v1/account-links', {
          params: { header: seenHeader(seen()) },
          body: { source, account: account.trim(), subject: subject.trim() },
        }),
      ),
    [key],
    () => {
      setAccount('');
      setSubject('');
    },
  );
  const unlink = useAct(
    (one: { source: string; account: string; version: number }) =>
      ask(
        api.DELETE('/v1/account-links', {
          params: {
            query: {
              source: webhookSources.find((known) => known === one.source) ?? 'github',
              account: one.account,
            },
            header: seenHeader(one),
          },
        }),
      ),
    [key],
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    link.mutate();
  };
  return (
    <Card title="Accounts of other systems" flush>
      <Loaded query={links} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="people" title="No account is linked">
              A mention in GitHub, GitLab or Slack starts a session when its author is a member here.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'System' },
                { title: 'Account' },
                { title: 'Person', wide: true },
                { title: 'Linked' },
                actsColumn,
              ]}
              rows={list.map((one) => ({
                key: `${one.source}/${one.account}`,
                cells: [
                  one.source,
                  <span key="a" className="mono">
                    {shownLine(one.account)}
                  </span>,
                  <span key="p" className="mono">
                    {shownLine(one.subject)}
                  </span>,
                  `${moment(one.changedAt)} · ${shownLine(one.changedBy)}`,
                  <Button
                    key="u"
                    look="danger"
                    aria-label={`Unlink ${one.account}`}
                    disabled={unlink.isPending}
                    onClick={() => unlink.mutate(one)}
                  >
                    Unlink
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
      <form onSubmit={submit} className="row wrap card-body" style={{ alignItems: 'flex-end' }}>
        <label className="field">
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
          <span>Account there</span>
          <input
            className="input mono"
            spellCheck={false}
            value={account}
            onChange={(event) => setAccount(event.target.value)}
          />
        </label>
        <label className="field grow">
          <span>Person here</span>
          <input
            className="input mono"
            spellCheck={false}
            value={subject}
            onChange={(event) => setSubject(event.target.value)}
          />
        </label>
        <Button
          type="submit"
          look="primary"
          className="large"
          disabled={link.isPending || account.trim() === '' || subject.trim() === ''}
        >
          Link
        </Button>
      </form>
    </Card>
  );
}
