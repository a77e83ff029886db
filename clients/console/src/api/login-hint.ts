const key = 'lemniscate-logged-in';

/**
 * Whether this browser may hold a login. The cookie itself is out of reach of scripts, and asking without one counts as
 * a failed login in the audit log, so the console remembers that there was one.
 */
export function mayBeLoggedIn(): boolean {
  // The way back from the organisation's login says so in the address.
  if (new URLSearchParams(location.hash.slice(1)).has('returned')) rememberLogin(true);
  return localStorage.getItem(key) === 'yes';
}

export function rememberLogin(loggedIn: boolean): void {
  if (loggedIn) localStorage.setItem(key, 'yes');
  else localStorage.removeItem(key);
}
