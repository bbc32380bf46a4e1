/** Connection URLs that may name several hosts, which the URL standard does not allow: `scheme://user:pass@a:1,b:2/…`. */

import { networkInterfaces } from 'node:os';

/** The hosts of a connection URL in lower case, without ports and brackets; empty for one that names none. Never throws. */
export function hostsOf(url: string): string[] {
  const start = url.indexOf('://');
  const [authority = ''] = url.slice(start < 0 ? 0 : start + 3).split(/[/?#]/, 1);
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  return hosts
    .split(',')
    .map((host) => (host.startsWith('[') ? host.slice(1).split(']', 1) : host.split(':', 1))[0] ?? '')
    .filter((host) => host !== '')
    .map((host) => host.toLowerCase());
}

/** The host and port of a Postgres URL, or all its hosts; never its user and password. */
export function serverOf(url: string): string {
  const { hostname, port } = URL.parse(url) ?? {};
  return hostname === undefined ? hostsOf(url).join(', ') : `${hostname}:${port === '' ? '5432' : port}`;
}

/** True for a name or literal address of this machine's loopback interface. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** True for an address to listen on that stands for all interfaces. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** The URL of a server that listens at this host and port, as a program of the same machine reaches it. Never throws. */
export function urlOfListener(host: string, port: number): string {
  const name = isWildcard(host) ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Interfaces of containers and virtual machines, which no phone is connected to. */
const VIRTUAL = /^(?:docker|br-|veth|virbr|vmnet|vboxnet|cni|flannel)/;

/** The addresses of this machine on its networks, IPv4 first; without loopback and without addresses that need a zone. Never throws. */
export function networkAddresses(interfaces = networkInterfaces()): string[] {
  return Object.entries(interfaces)
    .flatMap(([name, addresses]) => (VIRTUAL.test(name) ? [] : (addresses ?? [])))
    .filter(({ internal, scopeid }) => !internal && !scopeid)
    .toSorted((a, b) => a.family.localeCompare(b.family))
    .map(({ address }) => address);
}

/** The password in an address, which may lack its scheme; undefined when there is none. */
export function passwordOf(address: string | undefined): string | undefined {
  const password =
    address === undefined
      ? undefined
      : URL.parse(address.includes('://') ? address : `http://${address}`)?.password;
  return password && decodeURIComponent(password);
}

/**
 * The address with a password for its user; undefined if it has no user, or a password already. The rest stays
 * unchanged. Never throws.
 */
export function withPassword(url: string, password: string): string | undefined {
  const [, scheme = '', user, rest = ''] = /^([a-z]+:\/\/)([^:@/?#]+)@(.*)$/s.exec(url) ?? [];
  return user === undefined ? undefined : `${scheme}${user}:${encodeURIComponent(password)}@${rest}`;
}

/** Top-level names of networks that are not the internet (RFC 6761, RFC 6762, RFC 8375, and common use). */
const INNER = 'local|localhost|localdomain|lan|internal|intranet|home|corp|private|test|invalid|arpa';

/** A URL of a public website: without a port, a name with a public ending. */
const PUBLIC = `(?:[a-z0-9-]{1,63}\\.){1,8}(?!(?:${INNER})\\b)[a-z]{2,24}(?=[/?#\\s"').,;:!]|$)(?!:\\d)`;

/** What follows a host, without the punctuation of the sentence around it. */
const REST = '(?:[^\\s"\'<>),;]*[^\\s"\'<>).,;:!?])?';

const INNER_URL = `\\b(?:https?|wss?|tcp|unix|grpc):/{2,3}(?!${PUBLIC})${REST}`;

const IPV4 = `\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b(?::\\d{1,5})?(?:/${REST})?`;

const IPV6 = '\\[[0-9a-f:.]{2,45}\\](?::\\d{1,5})?';

const HOST_AND_PORT = `\\b(?:[a-z0-9_-]{1,63}\\.){0,8}[a-z][a-z0-9_-]{0,62}:\\d{2,5}\\b`;

const ADDRESS = new RegExp([INNER_URL, IPV4, IPV6, HOST_AND_PORT].join('|'), 'gi');

/** The text with `…` in place of each such address; URLs of public websites stay. Never throws. */
export function hideAddresses(text: string): string {
  return text.replaceAll(ADDRESS, '…');
}
