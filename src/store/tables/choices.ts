/** What the gateway has chosen where no one else did: the same for all nodes, and after a restart. */
import { StoreError } from '../../protocol/errors.ts';
import type { ChoiceStore } from '../../protocol/store/records.ts';
import type { Database } from '../database/database.ts';
import { eq, sql } from '../database/drizzle.ts';
import { choice } from '../database/schema.ts';

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
      if (row === undefined) throw new StoreError('database', 'The table choice keeps no row.');
      return row.value;
    },
  };
}
