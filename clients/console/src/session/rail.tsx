import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { moment, percent, plural, short, shortId, span, usd } from '../parts/format.ts';
import { Badge, isLive, useNow } from '../parts/parts.tsx';
import { useTabStop } from '../parts/use-tab-stop.ts';
import { reasonWords } from '../parts/session-state.ts';
import { personName } from '../sessions/sessions-page.tsx';
import { shown, shownLine } from './plain-text.ts';

/** The facts of a session beside its timeline: what it costs, how long it takes, where it runs, what came of it. */
export function Rail({ session, turn }: { session: SessionView; turn: number }): ReactNode {
  return (
    <aside className="rail" aria-label="Facts" {...useTabStop<HTMLElement>()}>
      <Cost session={session} />
      <Progress session={session} turn={turn} />
      {session.diff === null ? null : <Diff session={session} diff={session.diff} />}
      <section>
        <h2>Session</h2>
        <dl className="facts">
          <Fact name="Id" value={shortId(session.id)} whole={session.id} mono />
          <Fact name="Project" value={session.project} />
          <Fact name="Person" value={personName(session.openedBy)} whole={session.openedBy} />
          <Fact
            name="Repository"
            value={repositoryName(session)}
            whole={JSON.stringify(session.repository)}
          />
          <Fact name="Model" value={session.model} />
          <Fact name="Runtime" value={session.runtime} />
          <Fact name="Surface" value={`${session.surface}, ${session.execution}`} />
          <Fact name="Server" value={session.server ?? '–'} />
          <Fact name="Sandbox" value={session.sandbox.driver ?? '–'} />
          <Fact name="Attempt" value={String(session.attempt)} />
          <Fact name="Policy" value={session.policyDigest.slice(0, 12)} whole={session.policyDigest} mono />
        </dl>
      </section>
    </aside>
  );
}

function Fact({
  name,
  value,
  whole,
  mono,
}: {
  name: string;
  value: string;
  whole?: string;
  mono?: boolean;
}): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd className={mono === true ? 'mono' : undefined} title={shownLine(whole ?? value)}>
        {shownLine(value)}
      </dd>
    </>
  );
}

function Cost({ session }: { session: SessionView }): ReactNode {
  const { usage } = session;
  const read = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  return (
    <section>
      <h2>{isLive(session.state) ? 'Cost so far' : 'Cost'}</h2>
      <div className="big-cost" data-testid="cost">
        {session.priced ? usd(session.totalCostUsd) : 'unpriced'}
      </div>
      <dl className="facts" style={{ marginTop: 10 }}>
        <Fact name="Input" value={`${short(usage.inputTokens)} tokens`} />
        <Fact name="Output" value={`${short(usage.outputTokens)} tokens`} />
        <Fact name="Cache read" value={`${short(usage.cacheReadTokens)} tokens`} />
        <Fact name="Cache write" value={`${short(usage.cacheWriteTokens)} tokens`} />
        <Fact name="From cache" value={read === 0 ? '–' : percent(usage.cacheReadTokens / read)} />
      </dl>
    </section>
  );
}

const spans = [
  ['queued', 'Queued'],
  ['starting', 'Starting'],
  ['running', 'Running'],
] as const;

function Progress({ session, turn }: { session: SessionView; turn: number }): ReactNode {
  const now = useNow(1_000);
  const end = session.endedAt === null ? now : Date.parse(session.endedAt);
  const { budget } = session;
  return (
    <section>
      <h2>Progress</h2>
      <dl className="facts">
        <Fact name="Phase" value={session.phase} />
        <Fact name="Turns" value={String(turn)} />
        {budget === null ? null : (
          <>
            <Fact name="Actions" value={`${budget.actionsUsed} of ${budget.actions}`} />
            <Fact name="Minutes of work" value={`${budget.minutesUsed} of ${budget.minutes}`} />
            <Fact name="Extensions left" value={String(budget.extensionsLeft)} />
          </>
        )}
        <Fact name="Began" value={moment(session.createdAt)} />
        <Fact name="Age" value={span(Math.max(0, end - Date.parse(session.createdAt)))} />
        {spans.map(([name, label]) => {
          const ms = session.timingsMs[name];
          return ms === undefined ? null : <Fact key={name} name={label} value={span(ms)} />;
        })}
        {session.reason === null ? null : <Fact name="Reason" value={reasonWords(session.reason)} />}
        {session.exitCode === null ? null : <Fact name="Exit code" value={String(session.exitCode)} />}
      </dl>
      {session.message === null || session.state === 'completed' ? null : (
        <p className="note-box" style={{ marginTop: 10 }}>
          {shown(session.message)}
        </p>
      )}
    </section>
  );
}

function Diff({
  session,
  diff,
}: {
  session: SessionView;
  diff: NonNullable<SessionView['diff']>;
}): ReactNode {
  const flagged = diff.files.filter((file) => file.flags.length > 0).length;
  const tones = { offered: 'blue', accepted: 'green', rejected: 'red', discarded: 'grey' } as const;
  return (
    <section>
      <div className="spread" style={{ marginBottom: 8 }}>
        <h2 style={{ margin: 0 }}>Diff</h2>
        <Badge tone={tones[diff.state]}>{diff.state}</Badge>
      </div>
      {diff.files.length === 0 ? (
        <p className="faint">No file was changed.</p>
      ) : (
        <p className="row num" style={{ gap: 10 }}>
          {plural(diff.files.length, 'file')}
          <span className="ins">+{diff.insertions}</span>
          <span className="del">−{diff.deletions}</span>
          {flagged === 0 ? null : <Badge tone="amber">{flagged} flagged</Badge>}
        </p>
      )}
      {diff.files.length > 0 && diff.state !== 'discarded' ? (
        <Link
          href={`/sessions/${session.id}/diff`}
          className="link"
          style={{ display: 'inline-block', marginTop: 6 }}
        >
          Open the review
        </Link>
      ) : null}
    </section>
  );
}

function repositoryName({ repository }: SessionView): string {
  if (repository.kind === 'bundle') return repository.name;
  const place = repository.kind === 'git' ? repository.url : repository.path;
  return place.split('/').filter(Boolean).at(-1) ?? place;
}
