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
 * NATS if there is a `natsUrl`, else what the database offers; the nodes of one database share a subject and a key.
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
  return createNatsFanout({ url: natsUrl, subject: `parley.${subject}`, key, log, epochNow: Date.now });
}
