/** The fan-out over NATS core: one subject, no storage, reconnecting by itself. */
import type { NatsConnection } from '@nats-io/transport-node';
import type { Fanout } from '../contracts/bus.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { Log } from '../contracts/log.ts';

/** Longest time for the first connection, in milliseconds. */
const CONNECT_MS = 5_000;
/** Pause between attempts to reconnect, in milliseconds. */
const RECONNECT_MS = 1_000;

export interface NatsFanoutOptions {
  /** `nats://[user[:password]@]host[:port]` or `nats://token@host`; several separated by commas share the first one's login. */
  url: string;
  /** Names the nodes that belong together: the same for all nodes of one database, another for every other database. */
  subject: string;
  log: Log;
}

/** Login of the client; empty for an open server. */
export interface NatsLogin {
  user?: string;
  pass?: string;
  token?: string;
}

/** Makes the fan-out. It connects at `subscribe`; batches published while the server is away are lost, as agreed. */
export function createNatsFanout(options: NatsFanoutOptions): Fanout {
  let connection: NatsConnection | undefined;
  let connected = false;

  const followStatus = async (live: NatsConnection): Promise<void> => {
    for await (const status of live.status()) {
      if (status.type === 'disconnect') connected = false;
      else if (status.type === 'reconnect') connected = true;
      else continue;
      options.log.info({ status: status.type }, 'nats_connection_changed');
    }
  };

  return {
    publish(batch) {
      // While it is away the client would keep everything for later: old events are worth nothing then.
      if (connection === undefined || !connected) return;
      try {
        connection.publish(options.subject, batch);
      } catch (error) {
        options.log.debug({ err: error }, 'nats_publish_failed');
      }
    },

    async subscribe(listener) {
      const live = await connect(options.url);
      connection = live;
      connected = true;
      followStatus(live).catch((error: unknown) => options.log.warn({ err: error }, 'nats_status_lost'));
      live.subscribe(options.subject, {
        callback: (error, message) => {
          if (error === null) listener(message.string());
          else options.log.warn({ err: error }, 'nats_subscription_failed');
        },
      });
      return async () => {
        connected = false;
        connection = undefined;
        await live.close();
      };
    },
  };
}

async function connect(url: string): Promise<NatsConnection> {
  const { servers, login } = parseNatsUrl(url);
  const nats = await import('@nats-io/transport-node');
  try {
    return await nats.connect({
      servers,
      ...login,
      name: 'parley',
      noEcho: true,
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
    });
  } catch (cause) {
    throw new GatewayError(
      'nats_unavailable',
      `NATS at ${servers.join(', ')} does not answer: check NATS_URL.`,
      {
        retryable: true,
        cause,
      },
    );
  }
}

/** Splits `NATS_URL` into addresses and login. Throws `GatewayError('bad_nats_url')`, which does not repeat the URL. */
export function parseNatsUrl(url: string): { servers: string[]; login: NatsLogin } {
  const urls = url.split(',').map(parseOne);
  const { username, password } = urls[0]!;
  const user = decodeURIComponent(username);
  const pass = decodeURIComponent(password);
  const servers = urls.map((part) => `${part.hostname}:${part.port === '' ? '4222' : part.port}`);
  if (user === '') return { servers, login: {} };
  return { servers, login: pass === '' ? { token: user } : { user, pass } };
}

function parseOne(url: string): URL {
  const parsed = URL.parse(url.trim());
  if (parsed !== null && parsed.hostname !== '') return parsed;
  throw new GatewayError('bad_nats_url', 'NATS_URL is not of the form nats://host:4222.');
}
