/** Chooses how live events reach the other nodes. */
import type { Fanout, FanoutSecret } from '../protocol/bus.ts';
import type { Log } from '../protocol/log.ts';

/** What the database offers its nodes. */
export interface DatabaseFanout {
  /** Undefined on the embedded database without workers. */
  fanout?: Fanout;
  /** Throws `StoreError`. */
  fanoutSecret(): Promise<FanoutSecret>;
}

/**
 * NATS if there is a `natsUrl`, with the database in reserve; else what the database offers. The nodes of one database share a
 * subject and a key.
 * Throws `StoreError` and `GatewayError('bad_nats_url')`.
 */
export async function chooseFanout(
  natsUrl: string | undefined,
  database: DatabaseFanout,
  log: Log,
): Promise<Fanout | undefined> {
  if (natsUrl === undefined || database.fanout === undefined) return database.fanout;
  const { createNatsFanout } = await import('./nats-fanout.ts');
  const { subject, key } = await database.fanoutSecret();
  const nats = createNatsFanout({ url: natsUrl, subject: `parley.${subject}`, key, log, epochNow: Date.now });
  return withReserve(nats, database.fanout);
}

/** Batches go over the first fan-out while it is up, else over the second; those of other nodes come over both. */
export function withReserve(first: Fanout, second: Fanout): Fanout {
  return {
    ...first,
    publish: (batch) => (first.isUp() ? first : second).publish(batch),
    async subscribe(listener, onResumed) {
      const ends = [await second.subscribe(listener, onResumed)];
      try {
        ends.push(await first.subscribe(listener, onResumed));
      } catch (error) {
        await ends[0]?.();
        throw error;
      }
      return async () => void (await Promise.all(ends.map((end) => end())));
    },
  };
}
