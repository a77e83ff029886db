import type { Refusal } from './call.ts';

/** Programs that load, unload or replace parts of a kernel. */
export const kernelLoaders: readonly string[] = [
  'modprobe',
  'insmod',
  'rmmod',
  'depmod',
  'kexec',
  'kldload',
  'kldunload',
  'kextload',
  'kextunload',
  'kextutil',
  'drvload',
];

/**
 * Programs that change a firewall. The name decides: a listing needs the same rights, and which options only list is
 * told differently by each version of each program.
 */
export const firewallPrograms: readonly string[] = [
  'iptables',
  'ip6tables',
  'iptables-restore',
  'ip6tables-restore',
  'iptables-save',
  'ip6tables-save',
  'iptables-apply',
  'iptables-nft',
  'iptables-legacy',
  'ip6tables-nft',
  'ip6tables-legacy',
  'xtables-multi',
  'xtables-nft-multi',
  'ebtables',
  'arptables',
  'nft',
  'ipset',
  'ufw',
  'gufw',
  'firewall-cmd',
  'firewall-offline-cmd',
  'firewalld',
  'shorewall',
  'csf',
  'pfctl',
  'ipfw',
  'ipf',
  'npfctl',
  'socketfilterfw',
];

/** PowerShell's nouns: `New-NetFirewallRule`, `Set-NetFirewallProfile`, … but not `Get-`. */
export const firewallCmdlet = /^(new|set|remove|enable|disable|copy|rename|update|save|sync)-netfirewall\w*$/;

const firewallServices =
  /^(firewalld|ufw|nftables|iptables|ip6tables|mpssvc|sharedaccess|pf|windows (defender )?firewall)(\.service)?$/i;

const netsh: Refusal = (call) =>
  call.words.slice(1).some((word) => /^(advfirewall|firewall|ipsec|wfp)$/i.test(word)) &&
  !/^ (adv)?firewall (firewall )?show\b/i.test(` ${call.words.slice(1).join(' ')}`)
    ? 'modifies the firewall'
    : undefined;

const service: Refusal = (call) => {
  const changes = call.words.some((word) =>
    /^(start|stop|restart|reload|disable|enable|mask|unmask|kill|delete|config|--now)$/i.test(word),
  );
  return changes && call.words.slice(1).some((word) => firewallServices.test(word))
    ? 'modifies the firewall'
    : undefined;
};

const kmod: Refusal = (call) =>
  call.words.some((word) => /^(insert|remove|load|unload|install)$/.test(word))
    ? 'loads a kernel module'
    : undefined;

/** Refusals of the two families by program name. */
export const kernelAndFirewallRefusals: Readonly<Record<string, Refusal>> = {
  kmod,
  kmutil: kmod,
  dkms: kmod,
  devcon: kmod,
  netsh,
  systemctl: service,
  service,
  sc: service,
  net: service,
  'rc-service': service,
  'stop-service': (call) => service({ ...call, words: [...call.words, 'stop'] }),
  'set-service': (call) => service({ ...call, words: [...call.words, 'config'] }),
};
