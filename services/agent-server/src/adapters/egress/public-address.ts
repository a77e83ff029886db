import { BlockList, isIP } from 'node:net';

/**
 * Everything that is not the public internet (IANA's special-purpose registries): a name that resolves there would turn
 * an allowed host into a way to the fleet's own network, or to a cloud's metadata service.
 */
const special4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** Of 2000::/3, the only range in use: Teredo and its neighbours, documentation, and 6to4, which carries IPv4 addresses. */
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
const global6 = '2000::/3';

const special = new BlockList();
for (const range of special4) add(special, range, 'ipv4');
for (const range of special6) add(special, range, 'ipv6');
const global = new BlockList();
add(global, global6, 'ipv6');

function add(list: BlockList, range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', prefix] = range.split('/');
  list.addSubnet(network, Number(prefix), family);
}

/** Whether an address is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6) return false;
  return global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
