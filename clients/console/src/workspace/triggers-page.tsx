import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import type { TriggerView } from '@lemniscate/shared/api/trigger.ts';
import { api } from '../api/client.ts';
import { useAct, useHasRole } from '../api/queries.ts';
import { actsColumn, DataTable } from '../parts/data-table.tsx';
import { moment, shortId } from '../parts/format.ts';
import { CardPage } from '../parts/page.tsx';
import { Age, Badge, Button, Card, Empty, Loaded, useNow } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { Actor } from './actor.tsx';
import { Hooks } from './hooks.tsx';
import { NotifyTargets } from './notify-targets.tsx';

const lookEveryMs = 5_000;

type Definition = BodyOf<'/v1/triggers/{trigger}', 'put'>;

/** What starts sessions without a person, what came of it, and who is told of what happens. */
export function TriggersPage(): ReactNode {
  const mayAdminister = useHasRole('project_admin', 'administrator', 'auditor');
  return (
    <CardPage title="Triggers" about="what starts sessions by itself, and who is told">
      <Triggers />
      <Deliveries />
      {mayAdminister ? (
        <>
          <Hooks />
          <NotifyTargets />
        </>
      ) : null}
    </CardPage>
  );
}

function Triggers(): ReactNode {
  const triggers = useQuery({
    queryKey: ['triggers'],
    refetchInterval: lookEveryMs,
    queryFn: () => ask(api.GET('/v1/triggers')).then((answer) => answer.triggers),
  });
  const change = useAct(
    ({ id, version, definition, enabled }: TriggerView) =>
      ask(
        api.PUT('/v1/triggers/{trigger}', {
          params: { path: { trigger: id }, header: seenHeader({ version }) },
          // its lists are only read
          body: { ...(definition as Definition), enabled: !enabled },
        }),
      ),
    [['triggers']],
  );
  return (
    <Card title="Schedules and filters" flush>
      <Loaded query={triggers} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="trigger" title="Nothing starts by itself">
              Write one with: lemniscate triggers create FILE. A trigger runs with the rights of its owner.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Trigger', wide: true },
                { title: 'When' },
                { title: 'Agent' },
                { title: 'Project' },
                { title: 'Owner' },
                { title: 'State' },
                actsColumn,
              ]}
              rows={list.map((trigger) => ({
                key: trigger.id,
                cells: [
                  <span key="n" title={shownLine(trigger.definition.task)}>
                    {shownLine(trigger.definition.name)}
                  </span>,
                  whenOf(trigger),
                  <span key="a" className="mono">
                    {trigger.definition.agent}
                  </span>,
                  trigger.project,
                  shownLine(trigger.owner),
                  trigger.enabled ? (
                    <Badge key="s" tone="green">
                      {trigger.nextAt === null ? 'on' : `next ${moment(trigger.nextAt)}`}
                    </Badge>
                  ) : (
                    <span key="s" title={shownLine(trigger.disabledReason ?? 'put out of use by a person')}>
                      <Badge tone="red">off</Badge>{' '}
                      <span className="muted">{shownLine(trigger.disabledReason ?? '')}</span>
                    </span>
                  ),
                  <Button
                    key="c"
                    aria-label={`${trigger.enabled ? 'Disable' : 'Enable'} ${trigger.definition.name}`}
                    title="You own it from then on"
                    disabled={change.isPending}
                    onClick={() => change.mutate(trigger)}
                  >
                    {trigger.enabled ? 'Disable' : 'Enable'}
                  </Button>,
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function whenOf({ definition: { when } }: TriggerView): string {
  if (when.kind === 'cron') return `${shownLine(when.pattern)} (${shownLine(when.timeZone)})`;
  return when.filters.length === 1
    ? 'an event that fits'
    : `an event that fits ${when.filters.length} filters`;
}

const stateTones = { pending: 'grey', started: 'green', refused: 'red', ignored: 'grey' } as const;

/** What asked for sessions, and why nothing was started where nothing was. */
function Deliveries(): ReactNode {
  const now = useNow(5_000);
  const deliveries = useQuery({
    queryKey: ['deliveries'],
    refetchInterval: lookEveryMs,
    queryFn: () =>
      ask(api.GET('/v1/deliveries', { params: { query: { limit: 50 } } })).then(
        (answer) => answer.deliveries,
      ),
  });
  return (
    <Card title="What asked for a session" flush>
      <Loaded query={deliveries} rows={4}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="inbox" title="Nothing has asked">
              Schedules that were due, events, mentions, assignments and webhooks appear here, also those that
              started nothing.
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Age', right: true },
                { title: 'Cause' },
                { title: 'Agent' },
                { title: 'By' },
                { title: 'State' },
                { title: 'What came of it', wide: true },
              ]}
              rows={list.map((delivery) => ({
                key: delivery.id,
                cells: [
                  <Age key="t" at={delivery.at} now={now} />,
                  shownLine(delivery.cause),
                  <span key="a" className="mono">
                    {delivery.agent ?? '–'}
                  </span>,
                  <Actor key="b" actor={delivery.actor} />,
                  <Badge key="s" tone={stateTones[delivery.state]}>
                    {delivery.state}
                  </Badge>,
                  delivery.session === null ? (
                    <span key="w" title={shownLine(delivery.message ?? '')}>
                      {shownLine(delivery.message ?? delivery.reason ?? '–')}
                    </span>
                  ) : (
                    <Link key="w" href={`/sessions/${delivery.session}`} className="link">
                      session {shortId(delivery.session)}
                    </Link>
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
