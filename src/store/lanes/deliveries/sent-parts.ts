/** Platform ids of what is on screen: facts that are stored even if the lane of their sender has moved on. */
import type { Fence } from '../../../protocol/store/lanes.ts';
import type { Ledger, NotedParts } from '../../../protocol/store/ledger.ts';
import type { SentMessage } from '../../../protocol/message.ts';
import { cleanJson } from '../../../lib/json/json.ts';
import type { Database, Sql } from '../../database/database.ts';
import { heldLane } from '../lane-sql.ts';

/** `notes` is only for these notes, so that none of them waits behind another statement. */
export function createSentParts(
  database: Database,
  notes: Database,
): Pick<Ledger, 'sentParts' | 'sentAmong' | 'noteSent'> {
  return {
    sentParts: (ref) =>
      database.run(async (sql) => {
        const [row] = await sql<{ parts: SentMessage[] }[]>`select parts from delivery where ref = ${ref}`;
        return row?.parts ?? [];
      }),
    sentAmong: (ids) =>
      database.run(async (sql) => {
        const rows = await sql<{ id: string }[]>`
          select distinct part ->> 'id' as id from delivery, jsonb_array_elements(parts) part
          where updated_at > now() - interval '1 hour' and part ->> 'id' in ${sql([...ids])}`;
        return rows.map(({ id }) => id);
      }),
    noteSent: (fence, ref, sent) => notes.run((sql) => note(sql, fence, ref, sent)),
  };
}

/**
 * The holder of the lane replaces what is stored. A caller that has lost the lane may only continue it: the stored
 * parts are then the first of its own; otherwise another node shows `ref` by now, and the caller's messages are
 * copies.
 */
async function note(sql: Sql, fence: Fence, ref: string, sent: SentMessage[]): Promise<NotedParts> {
  const beginnings = sent.map((_, count) => sent.slice(0, count));
  const [row] = await sql<{ held: boolean; stored: boolean; before: SentMessage[] | null }[]>`
    with ${heldLane(sql, fence)},
    before as (select parts from delivery where ref = ${ref}),
    noted as (
      insert into delivery (ref, parts) values (${ref}, ${cleanJson(sent)}::jsonb)
      on conflict (ref) do update set parts = excluded.parts, updated_at = now()
      where exists (select from held) or delivery.parts = excluded.parts
        or delivery.parts in (select jsonb_array_elements(${cleanJson(beginnings)}::jsonb))
      returning ref)
    select exists (select from held) as held, exists (select from noted) as stored,
      (select parts from before) as before`;
  const before = row?.before ?? [];
  const copies = row?.stored === true ? without(before, sent) : without(sent, before);
  return { held: row?.held === true, copies };
}

function without(messages: readonly SentMessage[], others: readonly SentMessage[]): SentMessage[] {
  return messages.filter(({ id }) => others.every((other) => other.id !== id));
}

/** The body of a CTE that stores the platform ids known for `ref`. */
export function noteParts(sql: Sql, ref: string, parts: unknown[], guard: ReturnType<Sql>) {
  return sql`
    insert into delivery (ref, parts) select ${ref}, ${cleanJson(parts)}::jsonb from ${guard}
    on conflict (ref) do update set parts = excluded.parts, updated_at = now()`;
}
