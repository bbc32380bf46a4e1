/** Grants: who may write privately, who is an owner, and which groups get answers. */
import type { AccessStore, Grant } from '../../protocol/access.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database } from '../database/database.ts';
import { and, asc, eq } from '../database/drizzle.ts';
import { grant } from '../database/schema.ts';

type GrantStore = Pick<AccessStore, 'hasGrant' | 'addGrant' | 'removeGrant' | 'grants'>;

/** Grants of the `AccessStore` over a database. */
export function createGrants(database: Database): GrantStore {
  const is = (channel: string, kind: Grant['kind'], id: string) =>
    and(eq(grant.channel, channel), eq(grant.kind, kind), eq(grant.id, cleanText(id)));
  return {
    hasGrant: (channel, kind, id) =>
      database.query(
        async (orm) =>
          (
            await orm
              .select()
              .from(grant)
              .where(is(channel, kind, id))
          ).length > 0,
      ),
    addGrant: (channel, kind, id) =>
      database.query(async (orm) => {
        await orm
          .insert(grant)
          .values({ channel, kind, id: cleanText(id) })
          .onConflictDoNothing();
      }),
    removeGrant: (channel, kind, id) =>
      database.query(async (orm, attempt) => {
        const gone = await orm
          .delete(grant)
          .where(is(channel, kind, id))
          .returning();
        return gone.length > 0 || attempt > 0;
      }),
    grants: () => database.query((orm) => orm.select().from(grant).orderBy(asc(grant.grantedAt))),
  };
}
