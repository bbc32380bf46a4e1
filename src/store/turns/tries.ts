/** Which turns the model reads: questions asked again, answers chosen and withdrawn. Each in one transaction behind the lane's lock. */
import {
  MAX_TRIES,
  type Question,
  type SessionStart,
  STEP_ITERATIONS,
  type TryStore,
  type RetryRefusal,
} from '../../protocol/store/records.ts';
import type { AcceptRequest, AcceptResult, TurnPayload } from '../../protocol/store/accept.ts';
import { cleanText, estimateTokens } from '../../lib/text.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { dividedByZero } from '../database/retry.ts';
import { acceptCall, type AcceptCall, acceptedBefore, insertTurns } from './accept.ts';
import { summariesOf } from '../lanes/contexts.ts';
import { settleHeads } from '../lanes/lane-sql.ts';
import { lockLane } from '../lanes/stop.ts';

/** Maximum number of tools that are named; further ones are counted. */
const MAX_NAMED_EFFECTS = 20;

const NOTE = '\n[Note of the gateway: ';

/** The `TryStore` over a database. */
export function createTries(database: Database): TryStore {
  return {
    lastQuestion: (session) =>
      database.run(async (sql) => {
        const question = await newestTurn(sql, cleanText(session), sql`and m.role = 'user'`);
        return question && { turnId: question.turnId, content: question.content };
      }),
    choose: (session, turnId) =>
      database.transaction((sql) => choose(sql, cleanText(session), cleanText(turnId))),
  };
}

interface FoundTurn extends Question {
  /** The turn that has the question. */
  first: string;
}

/** A turn that people see and the model reads, with the first of its messages that matches. */
export async function newestTurn(sql: Sql, session: string, fits: Fragment): Promise<FoundTurn | undefined> {
  const [row] = await sql<FoundTurn[]>`
    select t.id as "turnId", coalesce(t.retry_of, t.id) as first, m.content
    from turn t join lateral (${questionOf(sql, fits)}) m on true
    where t.session = ${session} and t.state = 'done' and not t.left_out and t.reason is distinct from 'joined'
      and t.lane_seq > (select fresh_seq from session where key = ${session})
    order by t.lane_seq desc limit 1`;
  return row;
}

/** The first message of the turn `t`: the question in the wording that it answers, unless it has none. */
export function questionOf(sql: Sql, fits: Fragment): Fragment {
  return sql`
      select m.content from message m join turn o on o.id = m.turn_id
      where m.session = t.session and (o.id in (t.id, t.retry_of) or o.retry_of = t.retry_of) and o.lane_seq <= t.lane_seq
        ${fits} order by m.role = 'assistant', o.lane_seq desc, m.seq limit 1`;
}

/** Locks the lane; returns the reason if nothing can be changed now. */
export async function busyReason(sql: Sql, session: string): Promise<RetryRefusal | undefined> {
  const lane = await lockLane(sql, `in:${session}`);
  if (lane === undefined) return 'nothing';
  return lane.tail > lane.head ? 'busy' : undefined;
}

/** True if a summary covers one of the answers: what it says cannot be withdrawn. */
export async function isSummarized(sql: Sql, session: string, first: string): Promise<boolean> {
  const [row] = await sql<{ covered: boolean }[]>`
    select exists (
      select from turn t join context s on s.turn_id = ${summariesOf(session)} and s.kind = 'summary'
      where ${isTryOf(sql, first)} and s.iteration >= t.lane_seq) as covered`;
  return row?.covered === true;
}

function isTryOf(sql: Sql, first: string): Fragment {
  return sql`(t.id = ${first} or t.retry_of = ${first})`;
}

/** Leaves out all answers to a question except `chosenId`; without it, also the messages that joined. */
export async function leaveOut(
  sql: Sql,
  session: string,
  first: string,
  chosenId: string | undefined,
): Promise<void> {
  await sql`
    update turn t set left_out = ${chosenId === undefined ? sql`true` : sql`t.id <> ${chosenId}`}
    where ${isTryOf(sql, first)} and t.session = ${session}`;
  await sql`
    update turn t set left_out = ${chosenId === undefined}
    where t.session = ${session} and t.reason = 'joined' and t.lane_seq > (select lane_seq from turn where id = ${first})
      and t.lane_seq < coalesce((
        select min(lane_seq) from turn n where n.session = ${session} and n.reason is distinct from 'joined'
          and n.lane_seq > (select lane_seq from turn where id = ${first})), 2147483647)`;
  // The index of what the model may read has no row that a summary replaces, and 0 stands for none.
  await sql`
    update context c set summarized_by = case when t.left_out then 0 end from turn t
    where ${isTryOf(sql, first)} and c.turn_id = t.id
      and case when t.left_out then c.summarized_by is null else c.summarized_by = 0 end`;
}

async function choose(sql: Sql, session: string, turnId: string): Promise<Question | RetryRefusal> {
  const busy = await busyReason(sql, session);
  if (busy !== undefined) return busy;
  const [question] = await sql<{ first: string; content: string | null; forgotten: boolean }[]>`
    select coalesce(t.retry_of, t.id) as first,
      t.lane_seq <= (select fresh_seq from session where key = ${session}) as forgotten, (
      ${questionOf(sql, sql``)}) as content
    from turn t where t.id = ${turnId} and t.session = ${session} and t.reason is distinct from 'joined'`;
  if (question === undefined || question.forgotten) return 'nothing';
  if (await isSummarized(sql, session, question.first)) return 'summarized';
  await leaveOut(sql, session, question.first, turnId);
  return { turnId, content: question.content ?? '' };
}

/**
 * `Ledger.accept` of a question that is asked again: its earlier answer is left out, and a new turn begins with the same
 * message and files.
 */
export function acceptRetry(
  database: Database,
  request: AcceptRequest & { retryOf: string },
  newSessions: SessionStart,
): Promise<AcceptResult> {
  const call = acceptCall(request, newSessions);
  const repeat = database.transaction((sql, attempt) => retry(sql, call, request, attempt));
  return repeat.catch((error: unknown) => {
    if (dividedByZero(error)) return { kind: 'foreign' };
    throw error;
  });
}

interface OriginalTurn {
  session: string;
  first: string;
  payload: TurnPayload | null;
  tries: number;
}

async function retry(
  sql: Sql,
  call: AcceptCall,
  { retryOf, message, model, isOwner, reworded }: AcceptRequest & { retryOf: string },
  attempt: number,
): Promise<AcceptResult> {
  const original = await originalTurn(sql, cleanText(retryOf));
  if (original === undefined) return { kind: 'not_retried', reason: 'nothing' };
  const refusal = await refusalReason(sql, call, original);
  const { id, timestamp, placeholder, senderId } = message;
  const old = original.payload;
  const repeat = {
    ...call,
    retryOf: original.first,
    // A question in other words is a message of its own.
    shown: reworded === true ? 1 : 0,
    payload: {
      ...old,
      turnId: call.turnId,
      ...(model !== undefined && { model }),
      isOwner,
      message: {
        ...old?.message,
        ...(reworded === true && { content: message.content }),
        id,
        timestamp,
        placeholder,
      },
    },
  };
  const duplicate = await acceptedBefore(sql, repeat, attempt);
  if (duplicate !== undefined) return duplicate;
  if (refusal !== undefined) return { kind: 'not_retried', reason: refusal };
  if (old?.message.senderId !== senderId || old.address !== call.address)
    return { kind: 'not_retried', reason: 'foreign' };
  const effects = await effectsOf(sql, original.first);
  await leaveOut(sql, original.session, original.first, '');
  const [row] = await insertTurns(sql, [repeat]);
  if (row === undefined) return { kind: 'not_retried', reason: 'busy' };
  const { opened: _none, ...inserted } = row;
  const into = { session: original.session, laneSeq: row.laneSeq, turnId: call.turnId };
  const text = reworded === true ? cleanText(message.content) : undefined;
  const hasFiles = (old?.message.media.length ?? 0) > 0;
  // What the model reads of files is made anew by the turn, which knows nothing of the note then.
  const isMadeAnew = text !== undefined && (hasFiles || effects.length === 0);
  await copyQuestion(sql, cleanText(retryOf), into, { effects, text, isMadeAnew });
  const heads = await settleHeads(sql, row.heads, call.node ?? '', call.turnId);
  return {
    kind: 'accepted',
    ...inserted,
    heads,
    ...(effects.length > 0 && { effects }),
  };
}

async function originalTurn(sql: Sql, turnId: string): Promise<OriginalTurn | undefined> {
  const [row] = await sql<OriginalTurn[]>`
    select t.session, coalesce(t.retry_of, t.id) as first, item.payload,
      (select count(*)::int from turn r where r.id = coalesce(t.retry_of, t.id) or r.retry_of = coalesce(t.retry_of, t.id)) as tries
    from turn t left join lane_item item on item.lane = 'in:' || t.session and item.payload ->> 'turnId' = t.id
      and item.seq = t.lane_seq
    where t.id = ${turnId}`;
  return row;
}

/** Why it cannot be asked again now, checked behind the lane's lock. */
async function refusalReason(
  sql: Sql,
  call: AcceptCall,
  original: OriginalTurn,
): Promise<RetryRefusal | undefined> {
  const busy = await busyReason(sql, original.session);
  if (busy !== undefined) return busy;
  const target = call.override ?? call.address;
  const [row] = await sql<{ mine: boolean }[]>`
    select coalesce((select session from address where key = ${target}), ${target}) = ${original.session} as mine`;
  if (row?.mine !== true) return 'foreign';
  if (original.payload === null) return 'too_old';
  if (original.payload.plan !== undefined) return 'ran_a_plan';
  if ((original.payload.options?.tools?.length ?? 0) > 0) return 'has_client_tools';
  if (original.tries >= MAX_TRIES) return 'too_many_tries';
  return (await isSummarized(sql, original.session, original.first)) ? 'summarized' : undefined;
}

/** The tools that earlier answers have called and that may have changed something, each once: only their calls have an intent. */
async function effectsOf(sql: Sql, first: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct c.payload ->> 'toolName' as name from context c join turn t on t.id = c.turn_id
    where (t.id = ${first} or t.retry_of = ${first}) and c.kind = 'tool_intent' order by 1`;
  const names = rows.map(({ name }) => name);
  const more = names.length - MAX_NAMED_EFFECTS;
  return more > 0 ? [...names.slice(0, MAX_NAMED_EFFECTS), `${more} more`] : names;
}

/**
 * Begins the journal of the new turn with the messages of the earlier one, the first in other words if `text` is given. The
 * model reads that it has answered before, and which tools were called. `isMadeAnew`: without the first, which the turn makes.
 */
async function copyQuestion(
  sql: Sql,
  from: string,
  into: { session: string; laneSeq: number; turnId: string },
  {
    effects,
    text,
    isMadeAnew,
  }: { effects: readonly string[]; text: string | undefined; isMadeAnew: boolean },
): Promise<void> {
  const note = effects.length === 0 ? '' : noteOf(effects);
  await sql`
    insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
    select ${into.session}, ${into.laneSeq}, ${into.turnId}, 0, 'user', c.part,
      case when c.part = 0 and ${note} <> '' then c.payload || jsonb_build_object(
        'content', coalesce(${text ?? null}::text, split_part(c.payload ->> 'content', ${NOTE}, 1)) || ${note},
        'typed', coalesce(${text ?? null}::text, c.payload ->> 'typed', c.payload ->> 'content')) else c.payload end,
      c.tokens + case when c.part = 0 then ${estimateTokens(note)}::int else 0 end
    from context c
    where c.turn_id = ${from} and c.kind = 'user' and c.iteration < ${STEP_ITERATIONS}
      and (not ${isMadeAnew} or c.payload ? 'laneSeq')
    order by c.seq`;
}

function noteOf(effects: readonly string[]): string {
  return `${NOTE}this message was answered before, and that answer is set aside. The tools it called have run and are not undone: ${effects.join(', ')}. Look at what is there before you do anything twice.]`;
}
