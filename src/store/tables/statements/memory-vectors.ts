/**
 * Vectors of facts, as plain bytes. A user has at most a few hundred facts, all of which are compared: an index over
 * vectors, and the database extension that it needs, would have nothing to speed up.
 */
import type { MemoryVectorStore, Vector } from '../../../protocol/store/notes.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import type { Database } from '../../database/database.ts';
import { columns, type MemoryRow, toMemory } from './memories.ts';

/** The `MemoryVectorStore` over a database. */
export function createMemoryVectors(database: Database): MemoryVectorStore {
  return {
    vectorsOf: (user, model) =>
      database.run(async (sql) => {
        const rows = await sql<(MemoryRow & { vector: Buffer | null })[]>`
          select ${columns(sql)}, vector from memory
          where user_id = ${cleanText(user)} and vector_model = ${cleanText(model)}`;
        return rows.map((row) => ({ memory: toMemory(row), vector: new Int8Array(row.vector ?? []) }));
      }),
    withoutVector: (model, limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string; text: string }[]>`
          select id, content as text from memory where vector_model is distinct from ${cleanText(model)}
          order by id desc limit ${limit}`;
        return rows.map(({ id, text }) => ({ id: Number(id), text }));
      }),
    setVectors: (model, vectors) =>
      database.run(async (sql) => {
        const made = cleanJson(vectors.map(({ id, vector }) => ({ id, hex: hexOf(vector) })));
        await sql`
          update memory set vector_model = ${cleanText(model)}, vector = decode(made.hex, 'hex')
          from jsonb_to_recordset(${made}::jsonb) as made(id bigint, hex text) where memory.id = made.id`;
      }),
    dropOtherLengths: (model, length) =>
      database.run(async (sql) => {
        const dropped = await sql`
          update memory set vector = null, vector_model = null
          where vector_model = ${cleanText(model)} and octet_length(vector) <> ${length} and octet_length(vector) <> 0
          returning id`;
        return dropped.length;
      }),
  };
}

function hexOf(vector: Vector): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex');
}
