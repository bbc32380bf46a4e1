/** What `parley doctor` reports about the port: free, held by the gateway, or by another program. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CheckContext, Finding } from '../../../src/protocol/channel.ts';

const SUBJECT = 'Port';
/** Addresses that mean all interfaces; this machine reaches itself by loopback. */
const ANY = new Set(['0.0.0.0', '::']);

/** Opens the port briefly unless a gateway holds it. Never throws. */
export async function check(
  { host, port }: { host: string; port: number },
  { signal, running }: CheckContext,
): Promise<Finding[]> {
  const place = `${host}:${port}`;
  if (port === 0)
    return [{ subject: SUBJECT, level: 'ok', text: 'PORT=0: the gateway takes any free port.' }];
  const code = await refusalOf(host, port);
  if (code === undefined) {
    const text = running
      ? `${place} is free, though a gateway runs: it listens elsewhere.`
      : `${place} is free.`;
    return [{ subject: SUBJECT, level: running ? 'warning' : 'ok', text }];
  }
  if (code === 'EADDRINUSE' && (await isParley(ANY.has(host) ? '127.0.0.1' : host, port, signal))) {
    if (running) return [{ subject: SUBJECT, level: 'ok', text: `A gateway answers at ${place}.` }];
    const text = `A gateway with another GATEWAY_HOME holds ${place}.`;
    return [{ subject: SUBJECT, level: 'error', text, remedy: 'set PORT to another port, such as 8081' }];
  }
  const why: Record<string, string> = {
    EADDRINUSE: 'is in use by another program',
    EACCES: 'is not for this user: ports below 1024 belong to root',
    EADDRNOTAVAIL: 'is not an address of this machine',
  };
  const remedy = code === 'EADDRNOTAVAIL' ? 'correct HOST' : 'set PORT to another port, such as 8081';
  return [
    {
      subject: SUBJECT,
      level: 'error',
      text: `${place} ${why[code] ?? `cannot be opened (${code})`}.`,
      remedy,
    },
  ];
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
async function isParley(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  try {
    const request = get({ host, port, path: '/readyz', signal });
    const [response]: IncomingMessage[] = await once(request, 'response', { signal });
    if (response === undefined) return false;
    const answer: unknown = JSON.parse(await text(response));
    return typeof answer === 'object' && answer !== null && 'ready' in answer && 'channels' in answer;
  } catch {
    // It does not speak HTTP, or not this API.
    return false;
  }
}
