/** Chooses how live events reach the other nodes. */
import { createHash } from 'node:crypto';
import type { Fanout } from '../contracts/bus.ts';
import type { Log } from '../contracts/log.ts';

/** The environment variables that choose it. */
export interface FanoutChoice {
  NATS_URL?: string | undefined;
  DATABASE_URL?: string | undefined;
}

/**
 * Gives NATS when it is configured, else `ofDatabase`, which the database itself offers (nothing on the embedded one); nodes of
 * one database share a subject. Never throws.
 */
export async function chooseFanout(
  { NATS_URL: url, DATABASE_URL: database }: FanoutChoice,
  ofDatabase: Fanout | undefined,
  log: Log,
): Promise<Fanout | undefined> {
  if (url === undefined || database === undefined) return ofDatabase;
  const { createNatsFanout } = await import('./nats-fanout.ts');
  const subject = `parley.${createHash('sha256').update(database).digest('hex').slice(0, 16)}`;
  return createNatsFanout({ url, subject, log });
}
