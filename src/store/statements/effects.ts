/** What turns change, in the statements of their journal: for an undo. Also the earlier contents of files. */
import { cleanJson } from '../../lib/json/json.ts';
import type { Todo } from '../../protocol/store/notes.ts';
import { MAX_UNDO_BYTES, UNDO_DAYS, type UndoStore } from '../../protocol/sessions/undo.ts';
import type { CallNote } from '../../protocol/agent/call-note.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';

/**
 * CTEs, each with a leading comma, that store what the journal row of a call says of its effects while the CTE `guard` has
 * its one row. Before the call they store what is there; after it, what has changed since.
 */
export function notedCall(sql: Sql, note: CallNote | undefined, guard: Fragment): Fragment {
  if (note === undefined) return sql``;
  const { session, turnId, callKey, changes, memoryOwner, files, isWhole = false, lasting } = note;
  if (note.when === 'before') {
    const call = cleanJson({ changes, memoryOwner, files, isWhole, lasting });
    return sql`,
      called as (
        insert into turn_effect (session, turn_id, kind, target, before)
        select ${session}, ${turnId}, 'call', ${callKey},
          ${call}::jsonb || jsonb_build_object('rows', ${rowsNow(sql, note)}) from ${guard}
        on conflict (turn_id, kind, target) do nothing)`;
  }
  return sql`,
    called as (
      delete from turn_effect using ${guard}
      where turn_id = ${turnId} and kind = 'call' and target = ${callKey} returning turn_effect.seq, turn_effect.before),
    differing as (
      ${changedRows(sql, note)}
      ${files === undefined ? sql`` : sql`union all ${changedFiles(sql, files)}`}
      ${lasting === undefined ? sql`` : sql`union all select 'lasting', ${callKey}, null, ${cleanJson(lasting)}::jsonb from ${guard}`}),
    noted as (${putEffects(sql, { session, turnId }, sql`coalesce((select seq from called), ${nextSeq(sql)})`)})`;
}

/** Expression: the place of a change after all others. */
const nextSeq = (sql: Sql): Fragment => sql`nextval(pg_get_serial_sequence('turn_effect', 'seq'))`;

/**
 * The body of a CTE that stores the rows of the CTE `differing` (kind, target, before, after) as effects of a turn. Those of a
 * call have its place: what a later turn did before a crashed call was ended counts as done after it.
 */
function putEffects(
  sql: Sql,
  { session, turnId }: { session: string; turnId: string | Fragment },
  seq = nextSeq(sql),
): Fragment {
  return sql`
    insert into turn_effect (seq, session, turn_id, kind, target, before, after)
    select ${seq}, ${session}, ${turnId}, kind, target, before, after from differing order by kind, target
    on conflict (turn_id, kind, target) do update set seq = excluded.seq, after = excluded.after, state = 'done',
      -- What someone else made of it in between is what goes back.
      before = case when ${essence(sql, sql`turn_effect.after`)} is distinct from ${essence(sql, sql`excluded.before`)}
        then excluded.before else turn_effect.before end`;
}

/** As `essenceOf` of the protocol. */
function essence(sql: Sql, value: Fragment): Fragment {
  return sql`case when jsonb_typeof(${value}) = 'object' then ${value} - array['next_at', 'last_at', 'mode'] else ${value} end`;
}

function changedRows(sql: Sql, note: CallNote): Fragment {
  return sql`
    select split_part(key, ':', 1) as kind, substr(key, strpos(key, ':') + 1) as target, b.value as before, a.value as after
    from (select one.* from called, jsonb_each(called.before -> 'rows') one) b
    full join (select one.* from called, jsonb_each(${rowsNow(sql, note)}) one) a using (key)
    where ${essence(sql, sql`b.value`)} is distinct from ${essence(sql, sql`a.value`)}`;
}

function changedFiles(sql: Sql, files: NonNullable<CallNote['files']>): Fragment {
  const mark = sql`case when one ? 'sha256' then one - 'path' end as mark`;
  return sql`
    select 'file', path, b.mark, a.mark
    from (select one ->> 'path' as path, ${mark} from called, jsonb_array_elements(called.before -> 'files') one) b
    full join (select one ->> 'path' as path, ${mark} from called, jsonb_array_elements(${cleanJson(files)}::jsonb) one
      where called.before ? 'files') a using (path)
    where b.mark ->> 'sha256' is distinct from a.mark ->> 'sha256'`;
}

/** Expression: the rows that a call may change, as JSON by `<kind>:<target>`. */
function rowsNow(sql: Sql, { session, callKey, changes, memoryOwner }: CallNote): Fragment {
  const parts = changes.flatMap((change): Fragment[] => {
    if (change === 'files') return [];
    if (change === 'todos')
      return [sql`select 'todo:' as key, items as value from todo where session = ${session}`];
    if (change === 'scratchpad')
      return [sql`select 'note:' || name, ${noteJson(sql)} from scratchpad where session = ${session}`];
    if (change === 'profile')
      return [sql`select 'profile:', ${profileJson(sql)} from session where key = ${session}`];
    if (change === 'schedules')
      return [
        sql`select 'schedule:' || id, to_jsonb(s) from schedule s where session = ${session} or id = ${callKey}`,
      ];
    const id = Number(change.slice('memory:'.length));
    return [
      sql`select 'memory:' || id, ${memoryJson(sql)} from memory m where user_id = ${memoryOwner} and id = ${id}`,
    ];
  });
  const [first, ...others] = parts;
  if (first === undefined) return sql`'{}'::jsonb`;
  const all = others.reduce((some, part) => sql`${some} union all ${part}`, first);
  return sql`(select coalesce(jsonb_object_agg(key, value), '{}') from (${all}) as state(key, value))`;
}

/** Expressions: rows as effects have them. */
export const noteJson = (sql: Sql): Fragment =>
  sql`jsonb_build_object('content', content, 'sources', sources)`;
export const profileJson = (sql: Sql): Fragment =>
  sql`jsonb_build_object('profileId', profile_id, 'chosen', profile_chosen)`;
/** Of a row `m`; its vector is made anew. */
export const memoryJson = (sql: Sql): Fragment => sql`to_jsonb(m) - 'vector' - 'vector_model'`;

/**
 * CTEs, each with a leading comma, for a todo list that a plan replaces while `guard` has its one row: what was there, in
 * the same statement.
 */
export function notedTodos(
  sql: Sql,
  session: string,
  turnId: string | Fragment,
  items: readonly Todo[],
  guard: ReturnType<Sql>,
): Fragment {
  return sql`,
    differing as (
      select 'todo' as kind, '' as target, (select items from todo where session = ${session}) as before,
        ${cleanJson(items)}::jsonb as after from ${guard}),
    noted as (${putEffects(sql, { session, turnId })})`;
}

/**
 * CTEs, each with a leading comma, for the files that came with a message: those that the CTE `kept` has stored (path) were
 * not there before. The others were: this turn uses them.
 */
export function notedFiles(
  sql: Sql,
  turn: { session: string; turnId: string },
  files: readonly { file: string; sha256: string; bytes: number }[],
): Fragment {
  return sql`,
    differing as (
      select distinct on (f.file) case when f.file in (select path from kept) then 'file' else 'use' end as kind,
        f.file as target, null::jsonb as before, mark as after
      from held, jsonb_to_recordset(${cleanJson(files)}::jsonb) as f(file text, sha256 text, bytes bigint),
        lateral (select jsonb_build_object('sha256', f.sha256, 'bytes', f.bytes) as mark) marked),
    noted as (${putEffects(sql, turn)})`;
}

/** The functions of `UndoStore` for earlier contents. */
export function createEarlierContents(database: Database) {
  return {
    missingContents: (digests) =>
      database.run(async (sql) => {
        const rows = await sql<{ sha256: string }[]>`
          with wanted as (select distinct jsonb_array_elements_text(${cleanJson(digests)}::jsonb) as sha256),
          used as (
            update earlier_content set used_at = now() from wanted
            where earlier_content.sha256 = wanted.sha256 returning wanted.sha256)
          select sha256 from wanted where sha256 not in (select sha256 from used)`;
        return rows.map(({ sha256 }) => sha256);
      }),
    storeContent: (sha256, bytes) =>
      database.run(async (sql) => {
        await sql`
          insert into earlier_content (sha256, size, bytes) values (${sha256}, ${bytes.length}, ${bytes})
          on conflict (sha256) do update set used_at = now()`;
        await sql`
          delete from earlier_content where used_at < now() - ${UNDO_DAYS}::float8 * interval '1 day' or sha256 in (
            select sha256 from (
              select sha256, sum(size) over (order by used_at desc, sha256) as total from earlier_content) newest
            where total > ${MAX_UNDO_BYTES})`;
      }),
    content: (sha256) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: Buffer }[]>`
          select bytes from earlier_content where sha256 = ${sha256}`;
        return row?.bytes;
      }),
  } satisfies Partial<UndoStore>;
}
