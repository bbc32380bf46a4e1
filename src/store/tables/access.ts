/** Grants and tokens. */
import type { AccessStore, TokenRecord } from '../../contracts/access.ts';
import { newId } from '../../lib/ids.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database } from '../database/database.ts';
import { and, asc, eq } from '../database/drizzle.ts';
import { grant, token } from '../database/schema.ts';

/** Grants and tokens of the `AccessStore` over a database. */
export function createAccess(database: Database): GrantStore & TokenStore {
  return { ...createGrants(database), ...createTokens(database) };
}

type GrantStore = Pick<AccessStore, 'hasGrant' | 'addGrant' | 'removeGrant' | 'grants'>;

function createGrants(database: Database): GrantStore {
  const is = (channel: string, kind: 'dm' | 'group', id: string) =>
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

type TokenStore = Pick<AccessStore, 'tokenByHash' | 'putToken' | 'revokeToken' | 'tokens'>;

function createTokens(database: Database): TokenStore {
  const toRecord = ({ id, name, scopes, createdAt }: typeof token.$inferSelect): TokenRecord => ({
    tokenId: id,
    name,
    scopes,
    createdAt,
  });
  return {
    tokenByHash: (hash) =>
      database.query(async (orm) => {
        const [row] = await orm.select().from(token).where(eq(token.hash, hash));
        return row === undefined ? undefined : toRecord(row);
      }),
    putToken: ({ hash, name, scopes }) =>
      database.query(async (orm) => {
        const set = { name: cleanText(name), scopes };
        const put = orm.insert(token).values({ id: newId(), hash, ...set });
        const [row] = await put.onConflictDoUpdate({ target: token.hash, set }).returning();
        if (row === undefined) throw new Error('the upsert returned no row');
        return toRecord(row);
      }),
    revokeToken: (tokenId) =>
      database.query(async (orm, attempt) => {
        const gone = await orm
          .delete(token)
          .where(eq(token.id, cleanText(tokenId)))
          .returning();
        return gone.length > 0 || attempt > 0;
      }),
    tokens: () =>
      database.query(async (orm) =>
        (await orm.select().from(token).orderBy(asc(token.createdAt))).map(toRecord),
      ),
  };
}
