/** What `parley doctor` reports about trusted proxies: whether strangers could pass for one. */
import { BlockList, isIP } from 'node:net';
import type { Finding } from '../../../src/protocol/channel.ts';

/**
 * Networks that cannot be reached from the Internet (RFC 6890, with loopback and the shared space that Tailscale uses).
 */
const PRIVATE: [address: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
];

/**
 * A warning for each network that includes machines other than the operator's; none for single addresses. Never throws.
 */
export function proxyFindings(trustedProxies: readonly string[]): Finding[] {
  return trustedProxies.flatMap((network): Finding[] => {
    const [address = '', prefixText] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const prefix = Number(prefixText ?? (family === 'ipv6' ? 128 : 32));
    const isOne = prefix === (family === 'ipv6' ? 128 : 32);
    // A network that begins inside a private one and is at least as narrow is inside it.
    const isPrivate = PRIVATE.some(([own, width, kind]) => {
      const one = new BlockList();
      if (kind === family) one.addSubnet(own, width, kind);
      return prefix >= width && one.check(address, family);
    });
    if (isOne || isPrivate) return [];
    const who = prefix === 0 ? 'everyone' : 'machines on the Internet';
    return [
      {
        subject: 'Proxies',
        level: 'warning',
        text: `channels.http.trustedProxies has ${network}: ${who} may name any client address, and where proxySignIn is set sign in as anybody.`,
        remedy:
          'list the addresses of your proxies alone, such as 127.0.0.1, and make sure that no one else can reach the port',
      },
    ];
  });
}
