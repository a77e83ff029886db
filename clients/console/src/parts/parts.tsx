import { useEffect, useId, useState } from 'react';
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import { isApiError } from '../api/client.ts';
import { ago, moment } from './format.ts';
import { Icon } from './icons.tsx';
import type { IconName } from './icons.tsx';
import { liveStates, reasonWords, stateLooks } from './session-state.ts';
import type { Tone } from './session-state.ts';
import { useTabStop } from './use-tab-stop.ts';

type ButtonLook = 'plain' | 'primary' | 'danger' | 'danger-solid' | 'quiet';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: ButtonLook;
  readonly icon?: IconName;
  /** Key that does the same, shown on the button. */
  readonly shortcut?: string;
}

export function Button({
  look = 'plain',
  icon,
  shortcut,
  children,
  className = '',
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${look} ${className}`}
      aria-keyshortcuts={shortcut?.replace(' ', '+')}
    >
      {icon === undefined ? null : <Icon name={icon} size={14} />}
      {children}
      {shortcut === undefined ? null : (
        <span className="kbd" aria-hidden="true">
          {shortcut.length === 1 ? shortcut.toUpperCase() : shortcut}
        </span>
      )}
    </button>
  );
}

export function Badge({
  tone = 'grey',
  icon,
  children,
}: {
  tone?: Tone;
  icon?: IconName;
  children: ReactNode;
}): ReactNode {
  return (
    <span className={`badge ${tone}`}>
      {icon === undefined ? null : <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

/** A session's state with, where there is one that says more, its reason. */
export function StateBadge({ state, reason }: { state: SessionState; reason?: string | null }): ReactNode {
  const { label, tone, icon } = stateLooks[state];
  const isPlain = reason === null || reason === undefined || ['finished', 'stopped'].includes(reason);
  return (
    <span className={`badge ${tone}`} title={isPlain ? label : `${label}: ${reasonWords(reason)}`}>
      <Icon
        name={icon}
        size={12}
        {...(state === 'running' || state === 'starting' ? { className: 'pulse' } : {})}
      />
      {label}
    </span>
  );
}

export function isLive(state: SessionState): boolean {
  return liveStates.includes(state);
}

/** The whole of a page or part that has nothing to show. */
export function Empty({
  icon = 'sessions',
  title,
  children,
  action,
}: {
  icon?: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}): ReactNode {
  return (
    <div className="state">
      <span className="picture">
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      {children === undefined ? null : <p>{children}</p>}
      {action === undefined ? null : <div className="row">{action}</div>}
    </div>
  );
}

/** What went wrong, in the API's own words, and what one can do. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  const problem = isApiError(error) ? error.problem : null;
  const forbidden = problem?.status === 403;
  return (
    <div className="state" role="alert">
      <span className="picture">
        <Icon name={forbidden ? 'lock' : 'warning'} size={20} />
      </span>
      <h2>{forbidden ? 'You have no permission for this' : (problem?.title ?? 'This page has a fault')}</h2>
      <p>
        {problem?.detail ??
          (error instanceof Error ? error.message : 'Something that is no error was thrown.')}
      </p>
      {problem === null ? null : <code className="faint">{problem.code}</code>}
      {retry === undefined || forbidden ? null : (
        <div className="row">
          <Button onClick={retry}>Try again</Button>
        </div>
      )}
    </div>
  );
}

/** Shown while something is read: the shape of what comes, so that nothing jumps. */
export function Loading({ rows = 8, height = 44 }: { rows?: number; height?: number }): ReactNode {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="row" style={{ height, padding: '0 20px', gap: 16 }}>
          <div className="skeleton" style={{ width: 84, height: 14 }} />
          <div className="skeleton" style={{ width: `${30 + ((index * 17) % 40)}%`, height: 14 }} />
        </div>
      ))}
    </div>
  );
}

/** The three ways of something that is read: it loads, it failed, it is there. */
export function Loaded<Data>({
  query,
  rows,
  children,
}: {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown };
  rows?: number;
  children: (data: Data) => ReactNode;
}): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null && query.error !== undefined)
    return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Loading {...(rows === undefined ? {} : { rows })} />;
}

/** Milliseconds since the epoch, anew every so often. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function Age({ at, now }: { at: string; now: number }): ReactNode {
  return (
    <time dateTime={at} title={moment(at)} className="num">
      {ago(at, now)}
    </time>
  );
}

export function Segments<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string;
  options: readonly (readonly [value: Value, text: string])[];
  value: Value;
  onChange: (value: Value) => void;
}): ReactNode {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** The part of a page that scrolls. It takes the focus, so that the keyboard alone reads all of it. */
export function PageBody({ flush = false, children }: { flush?: boolean; children: ReactNode }): ReactNode {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={flush ? 'page-body flush' : 'page-body'} tabIndex={0}>
      {children}
    </div>
  );
}

/** A card with a head. */
export function Card({
  title,
  aside,
  children,
  flush = false,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  flush?: boolean;
}): ReactNode {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id} {...useTabStop<HTMLElement>()}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {flush ? children : <div className="card-body">{children}</div>}
    </section>
  );
}
