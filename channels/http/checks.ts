/** What `parley doctor` reports: whether the port is free, and whether strangers could pass for a trusted proxy. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { BlockList, createServer, isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { urlOfListener } from '../../src/lib/connection-url.ts';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import type { CheckContext, Finding } from '../../src/protocol/channel.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';

const finding = findingsOn('Port');

/** Refusals of the system that are about the host: no such name, an address of another machine, a family that is off. */
const WRONG_HOST: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EAI_AGAIN', 'ENOTFOUND']);
const OTHER_HOST = 'set HOST to 127.0.0.1 for this machine alone, or to 0.0.0.0 for its networks';

/** Opens the port briefly unless a gateway holds it. Never throws. */
export async function portFindings(
  { host, port }: { host: string; port: number },
  { signal, running }: CheckContext,
): Promise<Finding[]> {
  const place = `${host}:${port}`;
  const otherPort = 'set PORT to another port, such as 8081';
  if (port === 0) return [finding('ok', 'PORT=0: the gateway takes any free port.')];
  const code = await refusalOf(host, port);
  if (code === undefined && !running) return [finding('ok', `${place} is free.`)];
  if (code === undefined)
    return [
      finding(
        'warning',
        `${place} is free, though a gateway runs: it listens elsewhere.`,
        `set HOST and PORT as for the gateway; "${PARLEY} status" shows its address`,
      ),
    ];
  if (code === 'EADDRINUSE' && (await isParley(urlOfListener(host, port), signal))) {
    if (running) return [finding('ok', `A gateway answers at ${place}.`)];
    return [finding('error', `A gateway with another GATEWAY_HOME holds ${place}.`, otherPort)];
  }
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is in use by another program',
    EACCES: 'is not for this user: ports below 1024 belong to root',
  };
  // Another port would not help where the host is wrong.
  if (WRONG_HOST.has(code))
    return [finding('error', `HOST names ${host}, which is not an address of this machine.`, OTHER_HOST)];
  return [finding('error', `${place} ${reasons[code] ?? `cannot be opened (${code})`}.`, otherPort)];
}

/** Why the port cannot be opened; undefined when it can. */
async function refusalOf(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  } finally {
    server.close();
  }
}

/** True when what listens there answers as this program does. */
async function isParley(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const request = get(`${url}/readyz`, { signal });
    const [response]: IncomingMessage[] = await once(request, 'response', { signal });
    if (response === undefined) return false;
    const answer: unknown = JSON.parse(await text(response));
    return typeof answer === 'object' && answer !== null && 'ready' in answer && 'channels' in answer;
  } catch {
    // It does not speak HTTP, or not this API.
    return false;
  }
}

/** Networks that the Internet cannot reach (RFC 6890, with loopback and the shared space that Tailscale uses). */
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

/** A warning for each network with machines other than the operator's; none for single addresses. Never throws. */
export function proxyFindings(trustedProxies: readonly string[]): Finding[] {
  return trustedProxies.flatMap((network): Finding[] => {
    const [address = '', prefixText] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const prefix = Number(prefixText ?? (family === 'ipv6' ? 128 : 32));
    const isOne = prefix === (family === 'ipv6' ? 128 : 32);
    // A network that begins inside a private one and is at least as narrow is inside it.
    const isPrivate = PRIVATE.some(([privateAddress, width, kind]) => {
      const one = new BlockList();
      if (kind === family) one.addSubnet(privateAddress, width, kind);
      return prefix >= width && one.check(address, family);
    });
    if (isOne || isPrivate) return [];
    const who = prefix === 0 ? 'everyone' : 'machines on the Internet';
    return [
      findingsOn('Proxies')(
        'warning',
        `channels.http.trustedProxies has ${network}: ${who} may name any client address, and where proxySignIn is set sign in as anybody.`,
        'list the addresses of your proxies alone, such as 127.0.0.1, and make sure that no one else can reach the port',
      ),
    ];
  });
}
