import { BlockList, isIP } from 'node:net';

/** Addresses that are nobody's on the internet: own machine, private and link-local networks, cloud metadata, multicast. */
const ranges: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 128],
  ['::1', 128],
  // an IPv4 address in other clothes may be any of the above
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['100::', 64],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
];

// Two lists: in one, an IPv4 address is also looked for as the IPv6 address that it maps to.
const blocked = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix] of ranges) {
  const family = network.includes(':') ? 'ipv6' : 'ipv4';
  blocked[family].addSubnet(network, prefix, family);
}

/** Whether an address is not on the public internet; what is no address at all counts as such. */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return true;
  const family = version === 6 ? 'ipv6' : 'ipv4';
  return blocked[family].check(address, family);
}
