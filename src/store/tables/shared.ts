/** What the gateway has chosen where no one else did: the same for all nodes, and after a restart. */
import { StoreError } from '../../protocol/errors.ts';
import type { ChoiceStore } from '../../protocol/store/records.ts';
import type { Database } from '../database/database.ts';
import { asc, eq, gte, sql } from '../database/drizzle.ts';
import { choice, fanoutSecret, mcpStatus, node } from '../database/schema.ts';
import { randomBytes } from 'node:crypto';
import type { FanoutSecret } from '../../protocol/bus.ts';
import type { McpStatusStore } from '../../protocol/agent/tool.ts';

/** Creates the store of choices. */
export function createChoices(database: Database): ChoiceStore {
  return {
    chosen: (name) =>
      database.query(async (orm) => {
        const [row] = await orm.select().from(choice).where(eq(choice.name, name));
        return row?.value;
      }),
    async choose(name, value, insteadOf) {
      const present = sql`case when ${choice.value} = ${insteadOf ?? null}::text then excluded.value else ${choice.value} end`;
      const [row] = await database.query((orm) =>
        orm
          .insert(choice)
          .values({ name, value })
          .onConflictDoUpdate({ target: choice.name, set: { value: present } })
          .returning(),
      );
      if (row === undefined) throw new StoreError('database', 'Could not save to the table choice.');
      return row.value;
    },
  };
}

/** Reads it; the first node creates it. Throws `StoreError`. */
export async function readFanoutSecret(database: Database): Promise<FanoutSecret> {
  const fresh = { subject: randomBytes(16).toString('hex'), key: randomBytes(32).toString('base64') };
  const [row] = await database.query(async (orm) => {
    await orm.insert(fanoutSecret).values(fresh).onConflictDoNothing();
    return await orm.select().from(fanoutSecret).limit(1);
  });
  if (row === undefined) throw new StoreError('database', 'Could not save to the table fanout_secret.');
  return { subject: row.subject, key: Buffer.from(row.key, 'base64') };
}

/** Creates the store of these reports. */
export function createMcpStatus(database: Database): McpStatusStore {
  return {
    saveMcpStatus: (instance, servers) =>
      database.query(async (orm) => {
        const set = { servers: [...servers] };
        await orm
          .insert(mcpStatus)
          .values({ instance, ...set })
          .onConflictDoUpdate({ target: mcpStatus.instance, set });
      }),
    mcpStatus: () =>
      database.query((orm) =>
        orm
          .selectDistinct({ instance: mcpStatus.instance, servers: mcpStatus.servers })
          .from(mcpStatus)
          .innerJoin(node, eq(node.instance, mcpStatus.instance))
          .where(gte(node.leaseUntil, sql`now()`))
          .orderBy(asc(mcpStatus.instance)),
      ),
  };
}
