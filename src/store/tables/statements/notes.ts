/** The agent's own notes in a session: the todo list and the scratchpad. */
import { cleanJson } from '../../../lib/json/json.ts';
import { cleanText } from '../../../lib/text.ts';
import {
  MAX_NOTES,
  type Note,
  type ScratchpadStore,
  type Todo,
  type TodoStore,
} from '../../../protocol/store/notes.ts';
import type { Database, Sql } from '../../database/database.ts';

/** The `TodoStore` over a database; each write is one statement, so that two agents of a session do not overwrite each other's changes. */
export function createTodos(database: Database): TodoStore {
  return {
    todos: (session) =>
      database.run(async (sql) => {
        const [row] = await sql<{ items: Todo[] }[]>`select items from todo where session = ${session}`;
        return row?.items ?? [];
      }),
    setTodos: (session, items) =>
      database.run(async (sql) => {
        await sql`${putTodos(sql, session, items, sql`(select 1) as once`)}`;
      }),
    changeTodo: (session, index, change) =>
      database.run(async (sql) => {
        const [row] = await sql<{ items: Todo[] }[]>`
          update todo set updated_at = now(),
            items = jsonb_set(items, array[${String(index)}], (items -> ${index}::int) || ${cleanJson(change)}::jsonb)
          where session = ${session} and ${index}::int between 0 and jsonb_array_length(items) - 1
          returning items`;
        return row?.items;
      }),
  };
}

/** The `ScratchpadStore` over a database. */
export function createScratchpad(database: Database): ScratchpadStore {
  return {
    notes: (session) =>
      database.run(async (sql) => {
        const rows = await sql<(Note & { name: string })[]>`
          select name, content as text, sources from scratchpad where session = ${session} order by name collate "C"`;
        return new Map(rows.map(({ name, text, sources }) => [name, { text, sources }]));
      }),
    setNote: (session, name, note) =>
      database.transaction(async (sql) => {
        const key = cleanText(name);
        // One at a time per session, so that concurrent notes do not exceed the limit.
        await sql`select pg_advisory_xact_lock(hashtextextended(${`parley notes ${session}`}, 0))`;
        if (note === undefined) {
          await sql`delete from scratchpad where session = ${session} and name = ${key}`;
          return true;
        }
        const set = await sql`
          insert into scratchpad (session, name, content, sources)
          select ${session}, ${key}, ${cleanText(note.text)}, ${cleanJson(note.sources)}::jsonb
          where (select count(*) from scratchpad where session = ${session} and name <> ${key}) < ${MAX_NOTES}
          on conflict (session, name) do update set content = excluded.content, sources = excluded.sources returning name`;
        return set.length > 0;
      }),
  };
}

/** The body of a CTE that replaces a session's todo list while the CTE `guard` has its one row. */
export function putTodos(sql: Sql, session: string, items: readonly Todo[], guard: ReturnType<Sql>) {
  return sql`
    insert into todo (session, items) select ${session}, ${cleanJson(items)}::jsonb from ${guard}
    on conflict (session) do update set items = excluded.items, updated_at = now()`;
}
