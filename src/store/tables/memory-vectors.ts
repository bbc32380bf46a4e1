/**
 * Vectors of facts, as plain bytes. A user has at most a few hundred facts, all of which are compared: an index over
 * vectors, and the database extension that it needs, would have nothing to speed up.
 */
import type { MemoryVectorStore, Vector } from '../../contracts/store/memory-vectors.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database } from '../database/database.ts';
import { and, desc, eq, ne, sql } from '../database/drizzle.ts';
import { memory } from '../database/schema.ts';
import { asSessionKey } from './session-rows.ts';

/** The `MemoryVectorStore` over a database. */
export function createMemoryVectors(database: Database): MemoryVectorStore {
  return {
    vectorsOf: (user, model) =>
      database.query(async (orm) => {
        const ofModel = and(eq(memory.userId, cleanText(user)), eq(memory.vectorModel, cleanText(model)));
        const rows = await orm.select().from(memory).where(ofModel);
        return rows.map(({ id, content: text, session, untrusted, createdAt, vector }) => ({
          memory: { id, text, session: asSessionKey(session), untrusted, createdAt },
          vector: new Int8Array(vector ?? []),
        }));
      }),
    withoutVector: (model, limit) =>
      database.query((orm) => {
        const facts = orm.select({ id: memory.id, text: memory.content }).from(memory);
        const bare = facts.where(sql`${memory.vectorModel} is distinct from ${cleanText(model)}`);
        return bare.orderBy(desc(memory.id)).limit(limit);
      }),
    setVectors: (model, vectors) =>
      database.query(async (orm) => {
        const rows = vectors.map(({ id, vector }) => sql`(${id}::bigint, decode(${hexOf(vector)}, 'hex'))`);
        await orm.execute(sql`
          update ${memory} set vector_model = ${cleanText(model)}, vector = made.vector
          from (values ${sql.join(rows, sql`, `)}) as made (id, vector) where ${memory.id} = made.id`);
      }),
    dropOtherLengths: (model, length) =>
      database.query(async (orm) => {
        const bytes = sql`octet_length(${memory.vector})`;
        const other = and(eq(memory.vectorModel, cleanText(model)), ne(bytes, length), ne(bytes, 0));
        const dropped = orm.update(memory).set({ vector: null, vectorModel: null }).where(other);
        return (await dropped.returning({ id: memory.id })).length;
      }),
  };
}

function hexOf(vector: Vector): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex');
}
