/** The fan-out over NATS core: one subject, no storage, reconnects by itself, sealed against everyone else. */
import type { NatsConnection } from '@nats-io/transport-node';
import type { Fanout } from '../protocol/bus.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { createBatchSeal, type Refusal } from './batch-seal.ts';

/** Longest time for the first connection, in milliseconds. */
const CONNECT_MS = 5_000;
/** Pause between attempts to reconnect, in milliseconds. */
const RECONNECT_MS = 1_000;
/** Pause between questions whether the server is still there, in milliseconds, and how many may be without an answer. */
const PING_EVERY_MS = 5_000;
const MAX_UNANSWERED_PINGS = 2;
/** Refused batches are logged at most this often, in milliseconds. */
const TELL_EVERY_MS = 60_000;

export interface NatsFanoutOptions {
  /**
   * `nats://[user[:password]@]host[:port]` or `nats://token@host`; several, separated by commas, share the first one's
   * login. If one is `tls://`, all need TLS with a certificate that this machine trusts.
   */
  url: string;
  /** The same for all nodes of one database, and different for every other database. */
  subject: string;
  /** The key those nodes share, 32 bytes: batches that were not sealed with it are dropped. */
  key: Buffer;
  log: Log;
  epochNow: () => number;
}

/** Login of the client; empty for an open server. */
export interface NatsLogin {
  user?: string;
  pass?: string;
  token?: string;
}

/** Connects at `subscribe`; batches published while the server is unreachable are lost: `isUp` says so. */
export function createNatsFanout(options: NatsFanoutOptions): Fanout {
  let connection: NatsConnection | undefined;
  let connected = false;
  const seal = createBatchSeal(options.key, options.epochNow);
  const refusals = countRefusals(options);

  const followStatus = async (live: NatsConnection, onResumed?: () => void): Promise<void> => {
    for await (const { type } of live.status()) {
      if (type !== 'disconnect' && type !== 'reconnect') continue;
      connected = type === 'reconnect';
      options.log.info({ status: type }, 'nats_connection_changed');
      if (connected) onResumed?.();
    }
  };

  return {
    publish(batch) {
      // While the server is unreachable, the client would buffer everything: by then old events are
      // worthless.
      if (connection === undefined || !connected) return;
      try {
        connection.publish(options.subject, seal.seal(batch));
      } catch (error) {
        options.log.debug({ err: error }, 'nats_publish_failed');
      }
    },

    async subscribe(listener, onResumed) {
      const live = await connect(options.url);
      connection = live;
      connected = true;
      followStatus(live, onResumed).catch((error: unknown) =>
        options.log.warn({ err: error }, 'nats_status_lost'),
      );
      live.subscribe(options.subject, {
        callback: (error, message) => {
          if (error !== null) return options.log.warn({ err: error }, 'nats_subscription_failed');
          const result = seal.open(message.data);
          if ('batch' in result) listener(result.batch);
          else refusals.add(result.refused);
        },
      });
      return async () => {
        connected = false;
        connection = undefined;
        await live.close();
      };
    },

    isUp: () => connected,
    refused: () => refusals.total(),
  };
}

/** Counts refused batches, and logs that only once in a while. */
function countRefusals({ log, epochNow }: NatsFanoutOptions) {
  let total = 0;
  let counts: Partial<Record<Refusal, number>> = {};
  let warnedAt = Number.NEGATIVE_INFINITY;
  return {
    total: () => total,
    add(reason: Refusal): void {
      total += 1;
      counts[reason] = (counts[reason] ?? 0) + 1;
      if (epochNow() - warnedAt < TELL_EVERY_MS) return;
      warnedAt = epochNow();
      log.warn(counts, 'nats_batches_refused');
      counts = {};
    },
  };
}

async function connect(url: string): Promise<NatsConnection> {
  const { servers, login, tls } = parseNatsUrl(url);
  const nats = await import('@nats-io/transport-node');
  try {
    return await nats.connect({
      servers,
      ...login,
      // An empty object means: with TLS or not at all.
      ...(tls && { tls: {} }),
      name: 'parley',
      noEcho: true,
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      pingInterval: PING_EVERY_MS,
      maxPingOut: MAX_UNANSWERED_PINGS,
    });
  } catch (cause) {
    const remedy = tls
      ? 'with tls:// the server must offer TLS and a certificate this machine trusts (NODE_EXTRA_CA_CERTS adds an authority)'
      : 'check NATS_URL';
    const reason = cause instanceof Error ? cause.message : 'it does not answer';
    throw new GatewayError(
      'nats_unavailable',
      `NATS at ${servers.join(', ')} of NATS_URL cannot be used (${reason}): ${remedy}.`,
      { retryable: true, cause },
    );
  }
}

/** Splits `NATS_URL` into addresses and login. Throws `GatewayError('bad_nats_url')`, which does not repeat the URL. */
export function parseNatsUrl(url: string): { servers: string[]; login: NatsLogin; tls: boolean } {
  const urls = url.split(',').map(parseOne);
  const { username, password } = urls[0]!;
  const user = decodeURIComponent(username);
  const pass = decodeURIComponent(password);
  const servers = urls.map((part) => `${part.hostname}:${part.port === '' ? '4222' : part.port}`);
  const tls = urls.some(({ protocol }) => protocol === 'tls:');
  if (user === '') return { servers, login: {}, tls };
  return { servers, login: pass === '' ? { token: user } : { user, pass }, tls };
}

function parseOne(url: string): URL {
  const parsed = URL.parse(url.trim());
  const isNats = parsed?.protocol === 'nats:' || parsed?.protocol === 'tls:';
  if (parsed !== null && isNats && parsed.hostname !== '') return parsed;
  throw new GatewayError('bad_nats_url', 'NATS_URL must look like nats://host:4222 or tls://host:4222.');
}
