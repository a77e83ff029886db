import { z } from 'zod';

/** A place outside that a project's sandboxes may reach. `*.` stands for one or more labels; 443 where no port stands. */
export interface EgressRule {
  readonly host: string;
  /** The rule is for the hosts below the name, not for the name itself. */
  readonly below: boolean;
  readonly port: number;
}

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const portNumber = '0{0,4}(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';
const pattern = new RegExp(
  // digits alone are an address; a wildcard before one label would be the whole internet
  `^(?!(?:\\*\\.)?[\\d.]+(?::|$))(\\*\\.)?(${label}(?:\\.${label})+)(?::(?=\\d{1,5}$)(${portNumber}))?$`,
);
const defaultPort = 443;

/**
 * `host`, `host:port`, `*.host`. Names only: an address says nothing about whom it reaches, and a single label may be
 * anything inside the fleet's own network.
 */
export const egressRuleSchema = z
  .string()
  .max(260)
  .regex(
    pattern,
    'must be a host such as "registry.npmjs.org", "*.pypi.org" or "git.example.com:8443"; no scheme, no path, no address',
  );

/** Reads a rule; null where it is none. */
export function parseEgressRule(text: string): EgressRule | null {
  const [whole, wildcard, host, port] = pattern.exec(text.toLowerCase()) ?? [];
  if (whole === undefined || host === undefined) return null;
  return { host, below: wildcard !== undefined, port: port === undefined ? defaultPort : Number(port) };
}

/** Whether one of the rules lets a connection out. Everything else stays inside. */
export function egressAllowed(rules: readonly string[] | undefined, host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return (rules ?? []).some((text) => {
    const rule = parseEgressRule(text);
    if (rule === null || rule.port !== port) return false;
    return rule.below ? name.endsWith(`.${rule.host}`) : name === rule.host;
  });
}
