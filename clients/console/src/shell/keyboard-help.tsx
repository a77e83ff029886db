import type { ReactNode } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { modKey } from '../parts/shortcuts.ts';
import { pageGroups } from './pages.ts';

const groups: readonly { title: string; keys: readonly (readonly [keys: string, what: string])[] }[] = [
  {
    title: 'Everywhere',
    keys: [
      [`${modKey} K`, 'go to a page or session'],
      ['c', 'new session'],
      ['/', 'search the list'],
      ['?', 'this page'],
      ...pageGroups
        .flatMap(({ pages }) => pages)
        .map((page) => [page.keys, page.title.toLowerCase()] as const),
    ],
  },
  {
    title: 'Lists and inbox',
    keys: [
      ['j / k', 'next, previous'],
      ['Enter', 'open'],
      ['y', 'approve what is shown'],
      ['s', 'approve it for this session'],
      ['n', 'refuse it'],
    ],
  },
  {
    title: 'Review',
    keys: [
      ['j / k', 'next, previous file'],
      ['u', 'side by side or unified'],
      ['x', 'mark the file as seen'],
      ['o', 'leave the file out'],
      ['a', 'accept the diff'],
      ['r', 'reject the diff'],
    ],
  },
];

export function KeyboardHelp({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="dialog-body" style={{ gridTemplateColumns: '1fr 1fr', gap: 24 }}>
        {groups.map((group) => (
          <div key={group.title} className="stack">
            <h2>{group.title}</h2>
            <dl className="stack" style={{ gap: 4 }}>
              {group.keys.map(([keys, what]) => (
                <div key={keys + what} className="spread">
                  <dt className="muted">{what}</dt>
                  <dd>
                    <kbd className="kbd">{keys}</kbd>
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
