import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { useLocation } from 'wouter';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { StateBadge } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';
import { pageGroups } from './pages.ts';

export interface PaletteAct {
  readonly title: string;
  readonly keys?: string;
  readonly run: () => void;
}

interface Choice {
  readonly key: string;
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  readonly run: () => void;
}

/** Goes anywhere: pages, acts, and sessions by their words or id. */
export function Palette({ acts, onClose }: { acts: readonly PaletteAct[]; onClose: () => void }): ReactNode {
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const search = useDeferredValue(text.trim());
  useEffect(() => dialog.current?.showModal(), []);
  const found = useQuery({
    queryKey: ['palette', search],
    enabled: search.length >= 2,
    queryFn: () =>
      ask(api.GET('/v1/session-rows', { params: { query: { ...given({ search }), limit: 8 } } })),
  });

  const go = (path: string) => (): void => {
    onClose();
    navigate(path);
  };
  const matches = (title: string): boolean => title.toLowerCase().includes(text.trim().toLowerCase());
  const choices: Choice[] = [
    ...pageGroups
      .flatMap(({ pages }) => pages)
      .filter(({ title }) => matches(title))
      .map((page) => ({ key: page.path, title: page.title, aside: keyHint(page.keys), run: go(page.path) })),
    ...acts
      .filter(({ title }) => matches(title))
      .map((act) => ({
        key: act.title,
        title: act.title,
        aside: act.keys === undefined ? undefined : keyHint(act.keys),
        run: () => {
          onClose();
          act.run();
        },
      })),
    ...(search.length < 2 ? [] : (found.data?.rows ?? [])).map((row) => ({
      key: row.id,
      title: <span className="truncate">{shownLine(row.instruction)}</span>,
      aside: <StateBadge state={row.state} reason={row.reason} />,
      run: go(`/sessions/${row.id}`),
    })),
  ];
  const chosen = Math.min(at, choices.length - 1);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter') choices[chosen]?.run();
    else return;
    event.preventDefault();
  };

  return (
    <dialog ref={dialog} className="dialog palette" aria-label="Go to" onClose={onClose}>
      <input
        className="palette-input"
        placeholder="Go to a page, a session, an act…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={`${listId}-${chosen}`}
        aria-label="Go to"
      />
      <div className="palette-list" role="listbox" id={listId} aria-label="Where to go">
        {choices.map((choice, index) => (
          // The input keeps the focus; keys are handled there.
          <div
            key={choice.key}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={choice.run}
            onKeyDown={onKey}
            onMouseMove={() => setAt(index)}
          >
            <span className="truncate">{choice.title}</span>
            {choice.aside}
          </div>
        ))}
        {choices.length === 0 ? (
          <p className="faint" style={{ padding: 12 }}>
            Nothing is called that.
          </p>
        ) : null}
      </div>
    </dialog>
  );
}

function keyHint(keys: string): ReactNode {
  return (
    <span className="row" style={{ gap: 3 }}>
      {keys.split(' ').map((key) => (
        <kbd className="kbd" key={key}>
          {key.toUpperCase()}
        </kbd>
      ))}
    </span>
  );
}
