/** What the nodes of this database share to find and trust each other on another server. */
import { randomBytes } from 'node:crypto';
import { StoreError } from '../../protocol/errors.ts';
import type { FanoutSecret } from '../../protocol/bus.ts';
import type { Database } from '../database/database.ts';
import { fanoutSecret } from '../database/schema.ts';

/** Reads it; the first node creates it. Throws `StoreError`. */
export async function readFanoutSecret(database: Database): Promise<FanoutSecret> {
  const fresh = { subject: randomBytes(16).toString('hex'), key: randomBytes(32).toString('base64') };
  const [row] = await database.query(async (orm) => {
    await orm.insert(fanoutSecret).values(fresh).onConflictDoNothing();
    return await orm.select().from(fanoutSecret).limit(1);
  });
  if (row === undefined) throw new StoreError('database', 'The table fanout_secret keeps no row.');
  return { subject: row.subject, key: Buffer.from(row.key, 'base64') };
}
