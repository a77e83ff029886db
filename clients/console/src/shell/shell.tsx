import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { Me } from '@lemniscate/shared/api/identity.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { rememberLogin } from '../api/login-hint.ts';
import { useAct, useApprovals } from '../api/queries.ts';
import { NewSession } from '../sessions/new-session.tsx';
import { Icon } from '../parts/icons.tsx';
import { Button } from '../parts/parts.tsx';
import { modKey, useShortcuts } from '../parts/shortcuts.ts';
import { useApprovalStream } from '../inbox/approval-stream.ts';
import icon from './icon.svg';
import { KeyboardHelp } from './keyboard-help.tsx';
import { pageGroups } from './pages.ts';
import { Palette } from './palette.tsx';
import { applyTheme, isDark } from './theme.ts';

type Overlay = 'none' | 'new-session' | 'palette' | 'keys';

/** What surrounds every page: where one can go, who one is, and what the keys do. */
export function Shell({ me, children }: { me: Me; children: ReactNode }): ReactNode {
  const queries = useQueryClient();
  const [path, navigate] = useLocation();
  const [overlay, setOverlay] = useState<Overlay>('none');
  const [dark, setDark] = useState(isDark);
  useApprovalStream();
  const waiting = useApprovals().data?.length ?? 0;
  const logOut = useAct(
    () => ask(api.POST('/v1/logout')),
    [],
    () => {
      rememberLogin(false);
      queries.setQueryData(['me'], null);
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' });
    },
  );
  const close = (): void => setOverlay('none');
  const changeTheme = (): void => {
    applyTheme(dark ? 'light' : 'dark');
    setDark(!dark);
  };

  useShortcuts({
    'mod+k': () => setOverlay((now) => (now === 'palette' ? 'none' : 'palette')),
    '?': () => setOverlay('keys'),
    c: () => setOverlay('new-session'),
    ...Object.fromEntries(
      pageGroups.flatMap(({ pages }) => pages).map((page) => [page.keys, () => navigate(page.path)]),
    ),
  });

  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <nav className="nav" aria-label="Pages">
        <Link href="/" className="brand" aria-label="Lemniscate, sessions">
          <img src={icon} alt="" />
          <span>Lemniscate</span>
        </Link>
        {pageGroups.map((group) => (
          <div className="nav-group" key={group.title}>
            <h2>{group.title}</h2>
            <ul>
              {group.pages.map((page) => (
                <li key={page.path}>
                  <Link
                    href={page.path}
                    className="nav-link"
                    aria-current={isCurrent(path, page.path) ? 'page' : undefined}
                    title={`${page.title} (${page.keys})`}
                  >
                    <Icon name={page.icon} />
                    <span className="text">{page.title}</span>
                    {page.path === '/inbox' && waiting > 0 ? (
                      <span className="count" aria-label={`${waiting} waiting`}>
                        {waiting}
                      </span>
                    ) : null}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <div className="nav-foot">
          <button
            type="button"
            className="nav-link button quiet"
            title="Go to…"
            onClick={() => setOverlay('palette')}
          >
            <Icon name="search" />
            <span className="text">Go to…</span>
            <span className="kbd text" style={{ marginLeft: 'auto' }} aria-hidden="true">
              {modKey} K
            </span>
          </button>
          <div className="person">
            <span className="avatar" aria-hidden="true">
              {me.name.slice(0, 2).toUpperCase()}
            </span>
            <span className="grow truncate" title={`${me.subject}: ${me.roles.join(', ')}`}>
              {me.name}
            </span>
            <Button
              look="quiet"
              icon={dark ? 'sun' : 'moon'}
              onClick={changeTheme}
              aria-label={dark ? 'Light colours' : 'Dark colours'}
              className="icon-only"
            />
            <Button
              look="quiet"
              icon="exit"
              onClick={() => logOut.mutate()}
              aria-label="Log out"
              className="icon-only"
            />
          </div>
        </div>
      </nav>
      <main className="main" id="main" tabIndex={-1}>
        {children}
      </main>
      {overlay === 'new-session' ? <NewSession onClose={close} /> : null}
      {overlay === 'palette' ? (
        <Palette
          onClose={close}
          acts={[
            { title: 'New session', keys: 'c', run: () => setOverlay('new-session') },
            { title: dark ? 'Light colours' : 'Dark colours', run: changeTheme },
            { title: 'Keyboard', keys: '?', run: () => setOverlay('keys') },
            { title: 'Log out', run: () => logOut.mutate() },
          ]}
        />
      ) : null}
      {overlay === 'keys' ? <KeyboardHelp onClose={close} /> : null}
    </div>
  );
}

function isCurrent(path: string, page: string): boolean {
  if (page === '/') return path === '/' || path.startsWith('/sessions');
  return path === page || path.startsWith(`${page}/`);
}
