/** The address of a client: that of its connection, or what a trusted proxy says in `X-Forwarded-For`. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';

/** Entries of `X-Forwarded-For` that are read, from the end. */
const MAX_HOPS = 10;

/** The addresses of clients, with the proxies that may name them. */
export interface ClientAddresses {
  /** The client's address as limits count it: IPv4, or the /64 network of an IPv6 address, which is one client's. */
  of(incoming: IncomingMessage): string;
  /** The same for a connection; undefined for one from a trusted proxy, which carries requests of many clients. */
  ofSocket(socket: Socket): string | undefined;
}

/** True for an address or a network in CIDR notation, such as `10.0.0.0/8`. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

/** Makes the reader; `trustedProxies` are addresses or networks, each checked with `isNetwork`. */
export function clientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    trusted.addSubnet(
      address,
      prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix),
      family,
    );
  }
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return {
    of({ socket, headers }) {
      let address = plain(socket.remoteAddress ?? '');
      const forwardedFor = headers['x-forwarded-for'];
      if (typeof forwardedFor !== 'string' || !isTrusted(address)) return counted(address);
      // Each proxy appends the address that called it: from the end, the first that is not our proxy is the
      // client.
      for (const hop of forwardedFor.slice(-2_048).split(',').slice(-MAX_HOPS).toReversed()) {
        const caller = plain(hop.trim());
        if (isIP(caller) === 0) break;
        address = caller;
        if (!isTrusted(address)) break;
      }
      return counted(address);
    },
    ofSocket(socket) {
      const address = plain(socket.remoteAddress ?? '');
      return isTrusted(address) ? undefined : counted(address);
    },
  };
}

/** IPv4 in IPv6 notation (`::ffff:192.0.2.1`, RFC 4291) as IPv4, and no zone. */
function plain(address: string): string {
  const [bare = ''] = address.split('%');
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(bare) ? bare.slice('::ffff:'.length) : bare;
}

function counted(address: string): string {
  return isIP(address) === 6 ? networkOf(address) : address || 'unknown';
}

/** The first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('::');
  const leading = head === '' ? [] : head.split(':');
  const trailing = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - leading.length - trailing.length);
  const groups = [...leading, ...Array.from({ length: zeros }, () => '0'), ...trailing];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}
