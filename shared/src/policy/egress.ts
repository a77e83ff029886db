import { z } from 'zod';

/** A place outside that a project's sandboxes may reach. `*.` stands for one or more labels; 443 where no port stands. */
export interface EgressRule {
  readonly host: string;
  /** The rule is for the hosts below the name, not for the name itself. */
  readonly below: boolean;
  readonly port: number;
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const pattern = new RegExp(`^(\\*\\.)?(${label}(?:\\.${label})+)(?::(\\d{1,5}))?$`);
const defaultPort = 443;

/**
 * `host`, `host:port`, `*.host`. Names only: an address says nothing about whom it reaches, and a single label may be
 * anything inside the fleet's own network.
 */
export const egressRuleSchema = z
  .string()
  .max(260)
  .refine((text) => parseEgressRule(text) !== null, {
    message:
      'must be a host such as "registry.npmjs.org", "*.pypi.org" or "git.example.com:8443"; no scheme, no path, no address',
  });

/** Reads a rule; null where it is none. */
export function parseEgressRule(text: string): EgressRule | null {
  const [whole, wildcard, host, port] = pattern.exec(text.toLowerCase()) ?? [];
  if (whole === undefined || host === undefined) return null;
  const number = port === undefined ? defaultPort : Number(port);
  const isAddress = /^[\d.]+$/.test(host);
  // `*.com` would be the whole internet
  const tooWide = wildcard !== undefined && host.split('.').length < 2;
  if (number < 1 || number > 65_535 || isAddress || tooWide) return null;
  return { host, below: wildcard !== undefined, port: number };
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
