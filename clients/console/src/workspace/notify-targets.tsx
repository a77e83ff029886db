import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import type { MessageView, NoticeType, TargetView } from '@lemniscate/shared/api/notify.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { Dialog, FormDialog, SecretDialog } from '../parts/dialog.tsx';
import { moment } from '../parts/format.ts';
import { Badge, Button, Card, Empty, Loaded } from '../parts/parts.tsx';
import { toast } from '../parts/toasts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { noticeTypes } from './outside.ts';

const key = ['notify-targets'] as const;

/** Who outside is told of what happens: webhooks, Slack, e-mail; with what was sent and what came of it. */
export function NotifyTargets(): ReactNode {
  const [making, setMaking] = useState(false);
  const [open, setOpen] = useState<TargetView | null>(null);
  const targets = useQuery({
    queryKey: key,
    queryFn: () => ask(api.GET('/v1/notify-targets')).then((answer) => answer.targets),
  });
  const test = useAct(
    (id: string) => ask(api.POST('/v1/notify-targets/{target}/test', { params: { path: { target: id } } })),
    [[...key, 'messages']],
    () => toast('A test is on its way; its delivery is in the log.'),
  );
  return (
    <Card title="Who is told" aside={<Button onClick={() => setMaking(true)}>New target</Button>} flush>
      <Loaded query={targets} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="message" title="Nobody outside is told">
              State changes, approvals that wait and budget warnings can go to webhooks, Slack and e-mail.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Name' },
                { title: 'Where', wide: true },
                { title: 'Project' },
                { title: 'State' },
                actsColumn,
              ]}
              rows={list.map((target) => ({
                key: target.id,
                cells: [
                  shownLine(target.definition.name),
                  <span key="w" title={target.definition.events.join('\n')}>
                    {shownLine(placeOf(target))}
                  </span>,
                  target.project === '*' ? 'every project' : target.project,
                  <span key="s" title={shownLine(target.disabledReason ?? '')}>
                    <Badge tone={target.enabled ? 'green' : 'red'}>{target.enabled ? 'on' : 'off'}</Badge>
                  </span>,
                  <span key="a" className="row" style={{ justifyContent: 'flex-end' }}>
                    <Button onClick={() => setOpen(target)} aria-label={`Log of ${target.definition.name}`}>
                      Log
                    </Button>
                    <Button
                      disabled={test.isPending}
                      aria-label={`Test ${target.definition.name}`}
                      onClick={() => test.mutate(target.id)}
                    >
                      Test
                    </Button>
                  </span>,
                ],
              }))}
            />
          )
        }
      </Loaded>
      {making ? <NewTarget onClose={() => setMaking(false)} /> : null}
      {open === null ? null : <MessageLog target={open} onClose={() => setOpen(null)} />}
    </Card>
  );
}

function placeOf({ definition: { place } }: TargetView): string {
  if (place.kind === 'webhook') return place.url;
  return place.kind === 'email' ? place.addresses.join(', ') : 'Slack';
}

const messageTones = { pending: 'amber', delivered: 'green', failed: 'red' } as const;

function MessageLog({ target, onClose }: { target: TargetView; onClose: () => void }): ReactNode {
  const logKey = [...key, 'messages', target.id];
  const messages = useQuery({
    queryKey: logKey,
    refetchInterval: 2_000,
    queryFn: () =>
      ask(
        api.GET('/v1/notify-targets/{target}/messages', {
          params: { path: { target: target.id }, query: { limit: 50 } },
        }),
      ).then((answer) => answer.messages),
  });
  const resend = useAct(
    (message: string) =>
      ask(
        api.POST('/v1/notify-targets/{target}/messages/{message}/resend', {
          params: { path: { target: target.id, message } },
        }),
      ),
    [logKey],
  );
  return (
    <Dialog title={`Sent to ${shownLine(target.definition.name)}`} onClose={onClose}>
      <Loaded query={messages} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="message" title="Nothing was sent" />
          ) : (
            <DataTable
              columns={[
                { title: 'When' },
                { title: 'What' },
                { title: 'State' },
                { title: 'Last answer', wide: true },
                actsColumn,
              ]}
              rows={list.map((message) => ({
                key: message.id,
                cells: [
                  moment(message.createdAt),
                  message.type,
                  <Badge key="s" tone={messageTones[message.state]}>
                    {message.state}
                  </Badge>,
                  lastAnswer(message),
                  <Button key="r" disabled={resend.isPending} onClick={() => resend.mutate(message.id)}>
                    Send again
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Dialog>
  );
}

function lastAnswer({ attempts, nextAt }: MessageView): string {
  const last = attempts.at(-1);
  if (last === undefined) return '–';
  const again = nextAt === null ? '' : `, again ${moment(nextAt)}`;
  return shownLine(`${last.fault ?? last.status ?? ''} (${attempts.length} of its tries)${again}`);
}

type Definition = BodyOf<'/v1/notify-targets', 'post'>['definition'];
const kinds = ['webhook', 'slack', 'email'] as const;

function NewTarget({ onClose }: { onClose: () => void }): ReactNode {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<(typeof kinds)[number]>('webhook');
  const [where, setWhere] = useState('');
  const [events, setEvents] = useState<readonly NoticeType[]>(['approval.wanted', 'budget.warning']);
  const place = (): Definition['place'] => {
    if (kind === 'webhook') return { kind, url: where.trim() };
    return kind === 'slack'
      ? { kind }
      : { kind, addresses: where.split(',').map((address) => address.trim()) };
  };
  const make = useAct(
    () =>
      ask(
        api.POST('/v1/notify-targets', {
          body: {
            project: '*',
            definition: { name: name.trim(), place: place(), events: [...events] },
            ...(kind === 'slack' ? { secret: where.trim() } : {}),
          },
        }),
      ),
    [key],
    ({ secret }) => {
      if (secret === null) onClose();
    },
  );
  const secret = make.data?.secret ?? null;
  if (secret !== null)
    return (
      <SecretDialog
        title="The target is there"
        secrets={[{ label: 'Secret', value: secret }]}
        onClose={onClose}
      >
        Messages are signed as Standard Webhooks has it, with this secret. It is not shown again.
      </SecretDialog>
    );
  const labels = {
    webhook: 'Address',
    slack: 'Address of the incoming webhook',
    email: 'Addresses, with commas',
  };
  return (
    <FormDialog
      title="New target"
      act={make}
      submit={() => make.mutate()}
      submitWord="Create target"
      ready={name.trim() !== '' && events.length > 0}
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
      <div className="row" style={{ alignItems: 'flex-end' }}>
        <label className="field">
          <span>Kind</span>
          <select
            className="input"
            value={kind}
            onChange={(event) => setKind(kinds.find((one) => one === event.target.value) ?? kind)}
          >
            {kinds.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>{labels[kind]}</span>
          <input
            className="input mono"
            required
            value={where}
            onChange={(event) => setWhere(event.target.value)}
          />
        </label>
      </div>
      <fieldset className="stack">
        <legend className="label">Of what</legend>
        {noticeTypes.map((type) => (
          <label key={type} className="check">
            <input
              type="checkbox"
              checked={events.includes(type)}
              onChange={() =>
                setEvents(events.includes(type) ? events.filter((one) => one !== type) : [...events, type])
              }
            />
            {type}
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
