import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { useLocation } from 'wouter';
import { rememberLogin } from '../api/login-hint.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api, isApiError } from '../api/client.ts';
import { Button } from '../parts/parts.tsx';
import icon from '../shell/icon.svg';

/** The code of a link stands behind `#`, where no server and no log sees it. */
function codeOfLink(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get('code');
}

/** Opens a login for this browser: by the code of a link, or by the token of the local login. */
export function LoginPage(): ReactNode {
  const queries = useQueryClient();
  const [path, navigate] = useLocation();
  const [token, setToken] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const tried = useRef(false);

  const logIn = async (body: { code: string } | { token: string }): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await ask(api.POST('/v1/login/browser', { body }));
      rememberLogin(true);
      if (path === '/login') navigate('/', { replace: true });
      await queries.invalidateQueries({ queryKey: ['me'] });
    } catch (error) {
      setFault(isApiError(error) ? error.problem.detail : String(error));
      setBusy(false);
    }
  };

  useEffect(() => {
    const code = codeOfLink();
    if (code === null || tried.current) return;
    tried.current = true;
    history.replaceState(null, '', location.pathname);
    void logIn({ code });
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void logIn({ token: token.trim() });
  };

  const options = useQuery({
    queryKey: ['login-options'],
    staleTime: Infinity,
    queryFn: () => ask(api.GET('/v1/login/options')),
  });
  if (options.data?.kind === 'oidc') return <OrganisationLogin />;

  return (
    <main className="login">
      <div className="card login-card">
        <img src={icon} alt="" />
        <h1 style={{ fontSize: 'var(--text-20)' }}>Lemniscate</h1>
        <p className="muted" style={{ margin: '4px 0 20px' }}>
          Open the link that <code>npm start</code> prints, or get a new one in a terminal:
        </p>
        <pre className="command" style={{ marginBottom: 20 }}>
          npx lemniscate console
        </pre>
        <form onSubmit={submit} className="stack" style={{ gap: 12 }}>
          <label className="field">
            <span>Or the token of your local login</span>
            <input
              className="input"
              type="password"
              autoComplete="off"
              spellCheck={false}
              placeholder="lem_local_…"
              value={token}
              onChange={(event) => setToken(event.target.value)}
              aria-describedby="login-fault"
            />
          </label>
          <div id="login-fault" role="alert">
            {fault === null ? null : <div className="note-box red">{fault}</div>}
          </div>
          <Button type="submit" look="primary" className="large" disabled={busy || token.trim() === ''}>
            {busy ? 'Logging in…' : 'Log in'}
          </Button>
        </form>
      </div>
    </main>
  );
}

/** Where the organisation's issuer says who somebody is. The way back tells this page to look for the login. */
function OrganisationLogin(): ReactNode {
  const here = location.pathname === '/console/login' ? '/console/' : location.pathname;
  const returnTo = encodeURIComponent(`${here}#returned`);
  return (
    <main className="login">
      <div className="card login-card">
        <img src={icon} alt="" />
        <h1 style={{ fontSize: 'var(--text-20)' }}>Lemniscate</h1>
        <p className="muted" style={{ margin: '4px 0 20px' }}>
          You log in with your organisation and come back here.
        </p>
        <a className="button primary large" href={`/v1/login?returnTo=${returnTo}`} style={{ width: '100%' }}>
          Log in
        </a>
      </div>
    </main>
  );
}
