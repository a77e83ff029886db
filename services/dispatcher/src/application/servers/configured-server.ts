/** One entry of AGENT_SERVERS. `capacity` caps what the server itself reports. */
export interface ConfiguredServer {
  readonly url: string;
  readonly pool: string;
  readonly capacity: number | null;
}

/** The pool of servers whose entry names none. */
export const defaultPool = 'default';

/** The pool of joined workstations: sessions reach it only by naming their server. */
export const pinnedPool = 'pinned';

/**
 * Parses AGENT_SERVERS: comma-separated `https://host:port[;pool=NAME][;capacity=N]`.
 * @returns the servers, or a sentence on the first entry that cannot be read
 */
export function parseConfiguredServers(text: string): { servers: ConfiguredServer[] } | { fault: string } {
  const servers: ConfiguredServer[] = [];
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  for (const entry of entries) {
    const server = parseEntry(entry);
    if (typeof server === 'string') return { fault: server };
    if (servers.some((other) => other.url === server.url)) return { fault: `names ${server.url} twice` };
    servers.push(server);
  }
  return { servers };
}

function parseEntry(entry: string): ConfiguredServer | string {
  const [address = '', ...settings] = entry.split(';').map((part) => part.trim());
  if (!URL.canParse(address) || new URL(address).protocol !== 'https:')
    return `${address} must be a URL that begins with https:`;
  let pool = defaultPool;
  let capacity: number | null = null;
  for (const setting of settings) {
    const [name, value = ''] = setting.split('=');
    if (name === 'pool' && /^[a-z][a-z0-9-]{0,31}$/.test(value) && value !== pinnedPool) pool = value;
    else if (name === 'capacity' && /^[1-9]\d{0,4}$/.test(value)) capacity = Number(value);
    else return `${address}: cannot read "${setting}"; known are pool=NAME and capacity=N`;
  }
  return { url: new URL(address).origin, pool, capacity };
}

/** How the address of a server begins that has none: it fetches what it is asked. */
const fetchingPrefix = 'fetching:';

/** The address of a server that fetches its orders, in the place of a URL. */
export const fetchingAddress = (serverId: string): string => `${fetchingPrefix}${serverId}`;

/** Whether a server at this address is never called. */
export const fetchesItsOrders = (address: string): boolean => address.startsWith(fetchingPrefix);
