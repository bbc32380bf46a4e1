/** Undoes turns: rows go back in one transaction, behind the lock of the lane, and files after it, before the next turn. */
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import { cancelPlan, cancelReason, type Plan } from '../../protocol/agent/plan.ts';
import { agentLane, agentPrefix } from '../../protocol/agent/subagents.ts';
import { type Address, userIdOf } from '../../protocol/message.ts';
import {
  decideUndo,
  type Effect,
  essenceOf,
  type UndoableTurn,
  type UndoStore,
} from '../../protocol/sessions/undo.ts';
import type { FileMark, OpenCall } from '../../protocol/agent/call-note.ts';
import type { RetryRefusal } from '../../protocol/store/records.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { type Database, type Fragment, type Sql, withoutNulls } from '../database/database.ts';
import {
  createEarlierContents,
  memoryJson,
  noteJson,
  notedCall,
  profileJson,
} from '../statements/effects.ts';
import { asSessionKey } from '../tables/sessions.ts';
import { busyReason, isSummarized, leaveOut, newestTurn, questionOf } from './tries.ts';

/** Shortest end of an id that names a turn. */
const MIN_ID_CHARS = 8;

const CANCELLED = cancelReason(textRef('cancelled.undone'));

/** The `UndoStore` over a database. */
export function createUndo(database: Database): UndoStore {
  return {
    ...createEarlierContents(database),
    openCalls: (turnId) => database.run((sql) => openCalls(sql, cleanText(turnId))),
    closeCall: (note) =>
      database.write(
        (sql) => sql`
          with held as (select 1) ${notedCall(sql, { ...note, when: 'after' }, sql`held`)} select 1`,
      ),
    undoable: (session, turnId) => database.transaction((sql) => undoable(sql, cleanText(session), turnId)),
    begin: (session, turnId, marks) =>
      database.transaction((sql) => begin(sql, cleanText(session), cleanText(turnId), marks)),
    settled: (turnId, path, stays) =>
      database.write(
        (sql) => sql`
          update turn_effect set state = ${stays === undefined ? 'undone' : 'stays'}, reason = ${stays ?? null}
          where turn_id in (${answersTo(sql, cleanText(turnId))}) and kind = 'file' and target = ${path} and state = 'undoing'`,
      ),
    finished: (session) =>
      database.write((sql) => sql`update session set undoing = null where key = ${cleanText(session)}`),
    unfinished: (limit) =>
      database.run(async (sql) => {
        const rows = await sql<{ key: string; turnId: string }[]>`
          select key, undoing as "turnId" from session where undoing is not null order by key limit ${limit}`;
        return rows.map(({ key, turnId }) => ({ session: asSessionKey(key), turnId }));
      }),
  };
}

/** The ids of all answers to the question of a turn, and of the messages that joined them. */
function answersTo(sql: Sql, turnId: string): Fragment {
  return sql`
    with asked as (
      select coalesce(t.retry_of, t.id) as first, t.session from turn t where t.id = ${turnId}),
    span as (
      select f.session, f.lane_seq, coalesce((
        select min(n.lane_seq) from turn n where n.session = f.session and n.reason is distinct from 'joined'
          and n.lane_seq > f.lane_seq), 2147483647) as next
      from asked join turn f on f.id = asked.first)
    select t.id from turn t join asked on t.id = asked.first or t.retry_of = asked.first
    union
    select t.id from turn t join span on t.session = span.session and t.reason = 'joined'
      and t.lane_seq > span.lane_seq and t.lane_seq < span.next`;
}

async function openCalls(sql: Sql, turnId: string): Promise<OpenCall[]> {
  const rows = await sql<{ session: string; turnId: string; callKey: string; before: StoredCall }[]>`
    select session, turn_id as "turnId", target as "callKey", before from turn_effect
    where turn_id in (${answersTo(sql, turnId)}) and kind = 'call' order by seq`;
  return rows.map(({ session, before: { files, rows: _rows, isWhole, ...call }, ...ids }) => ({
    ...ids,
    ...call,
    session: asSessionKey(session),
    isWhole,
    paths: isWhole === true ? undefined : files?.map(({ path }) => path),
  }));
}

type StoredCall = Pick<OpenCall, 'changes' | 'memoryOwner' | 'isWhole' | 'lasting'> & {
  files?: FileMark[] | undefined;
  rows: unknown;
};

interface TurnRow {
  turnId: string;
  first: string;
  content: string | null;
  folder: string;
  address: Address;
  undoing: boolean;
  leftOut: boolean;
  channel: string | null;
  senderId: string | null;
}

async function undoable(sql: Sql, session: string, id?: string): Promise<UndoableTurn | RetryRefusal> {
  const turn = await findTurn(sql, session, id === undefined ? undefined : cleanText(id));
  if (turn === undefined) return (await newestBusy(sql, session, id)) ?? 'nothing';
  const {
    turnId,
    content,
    folder,
    address,
    undoing: isUndoing,
    leftOut: isLeftOut,
    channel,
    senderId,
  } = turn;
  if (!isLeftOut) {
    const refusal = await refusalNow(sql, session, turn);
    if (refusal !== undefined) return refusal;
  }
  const askedBy = channel === null || senderId === null ? undefined : userIdOf({ channel, senderId });
  return {
    turnId,
    content: content ?? '',
    session: asSessionKey(session),
    folder,
    address,
    askedBy,
    state: isUndoing ? 'undoing' : isLeftOut ? 'undone' : 'done',
    effects: await effectsOf(sql, session, turn),
  };
}

/** While the first turn runs, there is no other that could be undone. */
async function newestBusy(sql: Sql, session: string, id?: string): Promise<RetryRefusal | undefined> {
  return id === undefined ? await busyReason(sql, session) : undefined;
}

async function refusalNow(
  sql: Sql,
  session: string,
  { first }: Pick<TurnRow, 'first'>,
): Promise<RetryRefusal | undefined> {
  const busy = await busyReason(sql, session);
  if (busy !== undefined) return busy;
  if (await isSummarized(sql, session, first)) return 'summarized';
  const working = await sql`
    select from lane join lane_item i on i.lane = lane.key and i.seq = lane.head + 1
    where lane.class = 'agent' and lane.tail > lane.head
      and starts_with(lane.key, ${agentLane(agentPrefix(asSessionKey(session)))})
      and i.payload ->> 'turnId' in (${answersTo(sql, first)}) limit 1`;
  return working.length > 0 ? 'agents_work' : undefined;
}

async function findTurn(sql: Sql, session: string, id: string | undefined): Promise<TurnRow | undefined> {
  const newest = id === undefined ? await newestTurn(sql, session, sql``) : undefined;
  const name = id ?? newest?.turnId;
  if (name === undefined || name.length < MIN_ID_CHARS) return undefined;
  const ending = name.replaceAll(/[\\%_]/g, String.raw`\$&`);
  const rows = await sql<TurnRow[]>`
    select t.id as "turnId", coalesce(t.retry_of, t.id) as first, s.folder, t.address,
      (${questionOf(sql, sql``)}) as content, coalesce(s.undoing = coalesce(t.retry_of, t.id), false) as undoing,
      not exists (select from turn o where (o.id = coalesce(t.retry_of, t.id) or o.retry_of = coalesce(t.retry_of, t.id))
        and not o.left_out) as "leftOut",
      item.payload #>> '{message,channel}' as channel, item.payload #>> '{message,senderId}' as "senderId"
    from turn t join session s on s.key = t.session
    left join lane_item item on item.lane = 'in:' || t.session and item.seq = t.lane_seq
      and item.payload ->> 'turnId' = t.id
    where t.session = ${session} and t.id like ${`%${ending}`} and t.reason is distinct from 'joined'
      and t.lane_seq > s.fresh_seq and t.state = 'done' limit 2`;
  return rows.length === 1 ? rows[0] : undefined;
}

interface EffectRow extends Effect {
  turnId: string;
}

/** All effects, those of several answers on the same thing as one; also facts that were learned, and plans. */
async function effectsOf(sql: Sql, session: string, { first }: Pick<TurnRow, 'first'>): Promise<Effect[]> {
  const rows = await sql<EffectRow[]>`
    with answers as (${answersTo(sql, first)})
    select e.kind, e.target, e.before as original, e.after as result, e.state, e.reason as why,
      case e.kind
        when 'todo' then (select items from todo where session = ${session})
        when 'note' then (select ${noteJson(sql)} from scratchpad where session = ${session} and name = e.target)
        when 'profile' then (select ${profileJson(sql)} from session where key = ${session})
        when 'schedule' then (select to_jsonb(s) from schedule s where id = e.target)
        when 'memory' then (select ${memoryJson(sql)} from memory m where id::text = e.target) end as current,
      exists (select from turn_effect o where o.session = e.session and o.target = e.target
        and o.seq > e.seq and o.state in ('done', 'undoing') and o.turn_id not in (select id from answers)
        and (e.kind = 'file' and o.kind = 'use' or e.kind = o.kind and case when o.kind = 'file'
          then o.before ->> 'sha256' is distinct from o.after ->> 'sha256'
          else o.before is distinct from o.after end)) as "isBuiltUpon",
      exists (select from earlier_content c where c.sha256 = e.before ->> 'sha256') as "isStored"
    from turn_effect e where e.turn_id in (select id from answers) and e.kind not in ('call', 'use')
      -- A fact that the turn has both learned and forgotten.
      and not (e.kind = 'memory' and e.before is not null and split_part(e.before ->> 'key', '/', 1) in (select id from answers))
    order by e.seq`;
  const facts = await sql<Effect[]>`
    select 'memory' as kind, id::text as target, ${memoryJson(sql)} as result, ${memoryJson(sql)} as current, 'done' as state,
      false as "isBuiltUpon", false as "isStored"
    from memory m where session = ${session} and split_part(key, '/', 1) in (${answersTo(sql, first)}) order by id`;
  const plans = await sql<Effect[]>`
    select 'plan' as kind, id as target, doc as result, doc as current, 'done' as state,
      false as "isBuiltUpon", false as "isStored"
    from plan where turn_id in (${answersTo(sql, first)}) and doc ->> 'state' in ('running', 'paused', 'stored')
    order by created_at`;
  return combined([...withoutNulls(rows), ...facts, ...plans]);
}

/** Of several changes of a thing, oldest first: what was there before those that build on each other, and after them. */
function combined(rows: readonly Effect[]): Effect[] {
  const things = new Map<string, Effect>();
  for (const row of rows) {
    const key = `${row.kind}:${row.target}`;
    const previous = things.get(key);
    const isNext = previous !== undefined && essenceOf(previous.result) === essenceOf(row.original);
    if (!isNext) things.set(key, row);
    else things.set(key, { ...row, original: previous.original, isStored: previous.isStored });
  }
  return [...things.values()];
}

async function begin(
  sql: Sql,
  session: string,
  turnId: string,
  marks: ReadonlyMap<string, FileMark>,
): Promise<RetryRefusal | undefined> {
  const busy = await busyReason(sql, session);
  if (busy !== undefined) return busy;
  const [row] = await sql<{ undoing: string | null }[]>`
    select undoing from session where key = ${session} for update`;
  if (row?.undoing != null) return 'busy';
  const turn = await findTurn(sql, session, turnId);
  if (turn === undefined) return 'nothing';
  // A repeat whose answer was lost.
  if (turn.leftOut) return undefined;
  const refusal = await refusalNow(sql, session, turn);
  if (refusal !== undefined) return refusal;
  const effects = await effectsOf(sql, session, turn);
  const { goesBack, stays } = decideUndo(effects, marks);
  for (const { kind, target } of goesBack) {
    const effect = effects.find((one) => one.kind === kind && one.target === target);
    if (effect !== undefined) await putBack(sql, session, turn, effect);
  }
  for (const { kind, target, why: reason } of stays) {
    if (kind !== 'lasting') await mark(sql, turn, { kind, target }, { state: 'stays', reason });
  }
  await sql`
    update turn_effect set state = 'undone' where turn_id in (${answersTo(sql, turn.first)}) and kind = 'use'`;
  await leaveOut(sql, session, turn.first, undefined);
  await sql`update session set undoing = ${turn.first} where key = ${session}`;
  return undefined;
}

async function mark(
  sql: Sql,
  { first }: Pick<TurnRow, 'first'>,
  { kind, target }: Pick<Effect, 'kind' | 'target'>,
  { state, reason = null }: { state: Effect['state']; reason?: string | null },
): Promise<void> {
  await sql`
    update turn_effect set state = ${state}, reason = ${reason}
    where turn_id in (${answersTo(sql, first)}) and kind = ${kind} and target = ${target}`;
}

/** Puts a row back; a file is marked, and put back later. */
async function putBack(sql: Sql, session: string, turn: TurnRow, effect: Effect): Promise<void> {
  const { kind, target, original, result } = effect;
  if (kind === 'memory' || kind === 'plan') {
    // Those that a turn makes have no effect until now.
    await sql`
      insert into turn_effect (session, turn_id, kind, target, after)
      values (${session}, ${turn.turnId}, ${kind}, ${target}, ${cleanJson(result ?? null)}::jsonb)
      on conflict (turn_id, kind, target) do nothing`;
  }
  await mark(sql, turn, effect, { state: kind === 'file' ? 'undoing' : 'undone' });
  const old = cleanJson(original ?? null);
  if (kind === 'todo') await sql`${todosBack(sql, session, original === undefined ? undefined : old)}`;
  if (kind === 'note') {
    await sql`delete from scratchpad where session = ${session} and name = ${target}`;
    if (original !== undefined)
      await sql`
        insert into scratchpad (session, name, content, sources)
        select ${session}, ${target}, value ->> 'content', value -> 'sources' from (select ${old}::jsonb as value) old`;
  }
  if (kind === 'profile')
    await sql`
      update session set profile_id = value ->> 'profileId', profile_chosen = (value ->> 'chosen')::boolean
      from (select ${old}::jsonb as value) old where key = ${session}`;
  if (kind === 'schedule') {
    if (original === undefined) await sql`delete from schedule where id = ${target}`;
    else
      await sql`
        insert into schedule select * from jsonb_populate_record(null::schedule, ${old}::jsonb) on conflict do nothing`;
  }
  if (kind === 'memory') {
    if (original === undefined) await sql`delete from memory where id::text = ${target}`;
    else
      await sql`
        insert into memory overriding system value
        select * from jsonb_populate_record(null::memory, ${old}::jsonb) on conflict do nothing`;
  }
  if (kind === 'plan') await cancel(sql, target);
}

function todosBack(sql: Sql, session: string, items: string | undefined): Fragment {
  return items === undefined
    ? sql`delete from todo where session = ${session}`
    : sql`
      insert into todo (session, items) values (${session}, ${items}::jsonb)
      on conflict (session) do update set items = excluded.items, updated_at = now()`;
}

async function cancel(sql: Sql, id: string): Promise<void> {
  const [plan] = await sql<{ doc: Plan }[]>`select doc from plan where id = ${id} for update`;
  if (plan === undefined) return;
  const { reason, why: cause } = CANCELLED;
  await sql`
    update plan set doc = ${cleanJson(cancelPlan(plan.doc, reason, cause))}::jsonb, updated_at = now() where id = ${id}`;
}
