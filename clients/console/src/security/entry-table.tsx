import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { moment } from '../parts/format.ts';
import { Badge } from '../parts/parts.tsx';
import type { Tone } from '../parts/session-state.ts';
import { useTabStop } from '../parts/use-tab-stop.ts';
import { shown, shownLine } from '../session/plain-text.ts';
import { personName } from '../sessions/sessions-page.tsx';
import { fromBase64, readBody } from './chain-proof.ts';

const tones: readonly (readonly [pattern: RegExp, tone: Tone])[] = [
  [/refused|lost|revoked|undeliverable|abandoned/, 'red'],
  [/requested|exhausted|changed|set|bound|voted/, 'amber'],
  [/decided|accepted|extended|restored/, 'violet'],
  [/opened|running|joined|executed|exchanged/, 'blue'],
  [/closed|ended|destroyed/, 'green'],
];

function toneOf(type: string): Tone {
  return tones.find(([pattern]) => pattern.test(type))?.[1] ?? 'grey';
}

/** Entries in rows; one opens to the bytes that were hashed. */
export function EntryTable({
  entries,
  people,
  chains = false,
}: {
  entries: readonly StoredEntry[];
  /** Who the pseudonyms are; null where that was erased. */
  people: Readonly<Record<string, string | null>>;
  /** Whether they are of several chains, which are then named. */
  chains?: boolean;
}): ReactNode {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <div className="table-scroll" {...useTabStop<HTMLDivElement>()}>
      <table className="table" style={{ background: 'var(--surface)' }}>
        <thead>
          <tr>
            <th style={{ width: 176 }}>Time</th>
            {chains ? <th style={{ width: 216 }}>Chain</th> : <th style={{ width: 56 }}>Nr</th>}
            <th style={{ width: 168 }}>Entry</th>
            <th style={{ width: 140 }}>Who</th>
            <th>What</th>
            <th>
              <span className="visually-hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => {
            const key = `${entry.chain}/${entry.seq}`;
            const read = readBody(fromBase64(entry.body));
            return [
              <tr key={key}>
                <td className="num muted" style={{ whiteSpace: 'nowrap' }}>
                  {moment(entry.at)}
                </td>
                {chains ? <ChainCell chain={entry.chain} /> : <td className="num">{entry.seq}</td>}
                <td>
                  <Badge tone={toneOf(entry.type)}>{entry.type}</Badge>
                </td>
                <td className="truncate" style={{ maxWidth: 140 }} title={shownLine(read.subject ?? '')}>
                  {personName(shownLine(people[read.subject ?? ''] ?? read.subject ?? ''))}
                </td>
                <td className="truncate muted" style={{ maxWidth: 0, width: '100%' }}>
                  {summary(read.body ?? {})}
                </td>
                <td className="right">
                  <button
                    type="button"
                    className="link-button"
                    aria-expanded={open === key}
                    onClick={() => setOpen(open === key ? null : key)}
                  >
                    {open === key ? 'Close' : 'Open'}
                  </button>
                </td>
              </tr>,
              open === key ? (
                <tr key={`${key}/open`}>
                  <td colSpan={6} style={{ padding: '12px 16px' }}>
                    <pre className="command">{shown(JSON.stringify(read, null, 2))}</pre>
                    <dl className="facts" style={{ marginTop: 8, justifyContent: 'start' }}>
                      <dt>Digest</dt>
                      <dd className="mono" style={{ textAlign: 'left' }}>
                        {entry.digest}
                      </dd>
                      <dt>Before it</dt>
                      <dd className="mono" style={{ textAlign: 'left' }}>
                        {entry.prev === '' ? 'nothing: it is the first' : entry.prev}
                      </dd>
                    </dl>
                  </td>
                </tr>
              ) : null,
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

function ChainCell({ chain }: { chain: string }): ReactNode {
  return (
    <td>
      <Link href={`/audit/${encodeURIComponent(chain)}`} className="link mono">
        {chain.length > 26 ? `${chain.slice(0, 15)}…${chain.slice(-5)}` : chain}
      </Link>
    </td>
  );
}

/** The members of an entry that a person tells it apart by, on one line. */
function summary(body: Readonly<Record<string, unknown>>): string {
  const dull = /digest|commitment|sha256|^call$/i;
  return Object.entries(body)
    .filter(([name, value]) => !dull.test(name) && value !== null && value !== '')
    .slice(0, 6)
    .map(([name, value]) => `${name} ${shownLine(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(' · ');
}
