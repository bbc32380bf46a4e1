/** Distinguishes public internet addresses and names from all others; what is not known to be public is refused. */
import { BlockList, isIP } from 'node:net';
import { stripEnd } from '../lib/text.ts';

/** IPv4 ranges that are not globally routable unicast (IANA special-purpose registry, RFC 6890), and one cloud's metadata server. */
const REFUSED_V4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** Parts of 2000::/3 that embed an IPv4 address (Teredo, 6to4) or lead nowhere public. */
const REFUSED_V6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];
/** Names that mean this machine or this network wherever they are resolved (RFC 6761, 6762, 8375, and ICANN's `internal`). */
const REFUSED_NAMES = /(^|\.)(localhost|local|internal|home\.arpa|onion|test|invalid)$/;

const refusedV4 = new BlockList();
for (const [net, prefix] of REFUSED_V4) refusedV4.addSubnet(net, prefix, 'ipv4');
const refusedV6 = new BlockList();
for (const [net, prefix] of REFUSED_V6) refusedV6.addSubnet(net, prefix, 'ipv6');
/** The only block of global unicast: mapped, translated (NAT64), private and link-local addresses lie outside. */
const globalV6 = new BlockList();
globalV6.addSubnet('2000::', 3, 'ipv6');

/** True for a globally routable unicast address as `dns.lookup` or a WHATWG URL (without brackets) returns it. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refusedV4.check(address, 'ipv4');
  return family === 6 && globalV6.check(address, 'ipv6') && !refusedV6.check(address, 'ipv6');
}

/** True for a name that may be resolved; the addresses it resolves to are checked as well. */
export function isPublicName(hostname: string): boolean {
  const name = stripEnd(hostname.toLowerCase(), '.');
  return name !== '' && !REFUSED_NAMES.test(name);
}
