/** Batches of events between nodes over Postgres LISTEN/NOTIFY: lossy, bounded, and never awaited. */
import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import type { Fanout } from '../../protocol/bus.ts';
import { newId } from '../../lib/ids.ts';
import type { Log } from '../../protocol/log.ts';
import { connect, type DatabasePlace, waitWithoutEnd } from './database.ts';
import { withRetry } from './retry.ts';

/** Maximum number of batches in flight; more are dropped, because a late event is useless. */
export const MAX_BATCHES_UNDER_WAY = 64;

/** Largest payload of one NOTIFY, in bytes; Postgres refuses 8,000. */
export const MAX_NOTIFY_BYTES = 7_900;

/** How long a first subscription tries to connect, in milliseconds. */
const SUBSCRIBE_FOR_MS = 10_000;

const LISTEN_AGAIN_MS = 1_000;

/** How often the listening connection is asked whether it still leads somewhere, and how long the answer may take, in milliseconds. */
const CHECK_LISTENING = { everyMs: 15_000, answerMs: 5_000 };

export interface PostgresFanout extends Fanout {
  /** Number of batches not sent since the start because the database was slow or unreachable. */
  dropped(): number;
  /** Never throws. */
  close(): Promise<void>;
}

/** A node does not receive its own batches. The schema in the channel's name separates gateways in one database. */
export function createFanout(place: DatabasePlace, log: Log, check = CHECK_LISTENING): PostgresFanout {
  const origin = newId();
  const channel = channelOf(place.schema);
  const sender = connect(place, 1);
  const listening = new Set<Listening>();
  let underWay = 0;
  let droppedCount = 0;

  return {
    publish(batch) {
      const payload = `${origin}${batch}`;
      if (underWay >= MAX_BATCHES_UNDER_WAY || Buffer.byteLength(payload) > MAX_NOTIFY_BYTES) {
        droppedCount += 1;
        return;
      }
      underWay += 1;
      // A server that ends idle sessions would take the next batch along.
      sender`select pg_notify(${channel}, ${payload}), set_config('idle_session_timeout', '0', false)`
        .catch((error: unknown) => {
          droppedCount += 1;
          log.debug({ err: error }, 'event_batch_lost');
        })
        .finally(() => {
          underWay -= 1;
        });
    },
    async subscribe(listener, onResumed) {
      const onPayload = (payload: string): void => {
        if (!payload.startsWith(origin)) listener(payload.slice(origin.length));
      };
      const connection = await listen(place, channel, log, { onPayload, onResumed, check });
      listening.add(connection);
      return async () => {
        listening.delete(connection);
        await connection.end();
      };
    },
    isUp: () => [...listening].every((connection) => connection.isUp()),
    dropped: () => droppedCount,
    async close() {
      for (const connection of listening) await connection.end();
      await sender.end({ timeout: 0 });
    },
  };
}

/** A channel name has at most 63 bytes; a long schema is replaced by its digest. */
function channelOf(schema: string): string {
  const name = `parley_events_${schema}`;
  return name.length <= 63
    ? name
    : `parley_events_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}

/** A connection that listens, and is opened again after each loss. */
interface Listening {
  isUp(): boolean;
  end(): Promise<void>;
}

interface ListeningParts {
  onPayload: (payload: string) => void;
  onResumed: (() => void) | undefined;
  check: typeof CHECK_LISTENING;
}

/**
 * Listens on one connection until `end` is called. The driver's own `listen` reconnects only once;
 * here every loss creates a new client.
 */
async function listen(
  place: DatabasePlace,
  channel: string,
  log: Log,
  { onPayload, onResumed, check }: ListeningParts,
): Promise<Listening> {
  let client: postgres.Sql | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const open = async (): Promise<void> => {
    // `onnotify` is an option of the driver that its types omit.
    const hooks = {
      max_lifetime: null,
      onnotify: (_: string, payload: string) => onPayload(payload),
      onclose: () => {
        if (client === fresh) openAgain();
      },
    };
    const fresh = connect(place, 1, hooks);
    try {
      await waitWithoutEnd(fresh);
      await fresh.unsafe(`listen "${channel}"`);
    } catch (error) {
      await fresh.end({ timeout: 0 });
      throw error;
    }
    if (isClosed) await fresh.end({ timeout: 0 });
    else client = fresh;
  };
  const openAgain = (): void => {
    client = undefined;
    if (isClosed) return;
    retryTimer = setTimeout(() => {
      open().then(onResumed, (error: unknown) => {
        log.warn({ err: error }, 'event_listen_failed');
        openAgain();
      });
    }, LISTEN_AGAIN_MS);
  };

  const checkTimer = setInterval(
    () => client && endIfSilent(client, check.answerMs, log),
    check.everyMs,
  ).unref();

  await withRetry(open, { forMs: SUBSCRIBE_FOR_MS });
  return {
    isUp: () => client !== undefined,
    async end() {
      isClosed = true;
      clearTimeout(retryTimer);
      clearInterval(checkTimer);
      const last = client;
      client = undefined;
      await last?.end({ timeout: 0 });
    },
  };
}

/** A connection that only receives shows by nothing else that a firewall has dropped it without telling. Its close opens another. */
function endIfSilent(client: postgres.Sql, answerMs: number, log: Log): void {
  const timer = setTimeout(() => {
    log.warn({}, 'event_listen_silent');
    void client.end({ timeout: 0 });
  }, answerMs).unref();
  const forget = (): void => clearTimeout(timer);
  // The failure of a connection that was lost is reported when it closes.
  void client`select 1`.then(forget, forget);
}
