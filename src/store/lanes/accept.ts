/** T1: a person's message becomes a queued turn, in one statement. */
import type { AcceptRequest, AcceptResult, TurnPayload } from '../../contracts/store/accept.ts';
import { MAX_PENDING } from '../../contracts/store/ledger.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import { memoryOwnerOf } from '../../contracts/message.ts';
import type { Address, SentMessage, SessionKey } from '../../contracts/message.ts';
import type { SessionChoice } from '../../contracts/sessions/session-choice.ts';
import type { SessionStart } from '../../contracts/store/records.ts';
import type { Database, Sql } from '../database/database.ts';
import { newTurnPast, openedAtOnce, openedNow } from './turn/open-turn.ts';
import type { NewTurn } from './turn/open-turn.ts';
import { pendingCallIds, waitsForCaller } from './caller-tools.ts';
import { noteParts } from './deliveries/sent-parts.ts';
import {
  bumpLane,
  claimedHeads,
  dedupeKey,
  type HeadRow,
  headsOf,
  liveNode,
  over,
  settleHeads,
} from './lane-sql.ts';
import { dividedByZero, violatedKey } from '../database/retry.ts';

/** `Ledger.accept` of a new message. */
export async function accept(
  database: Database,
  request: AcceptRequest,
  newSessions: SessionStart,
): Promise<AcceptResult> {
  const call = acceptCall(request, newSessions);
  return await database.run(async (sql, attempt) => {
    let row: AcceptedRow | undefined;
    try {
      row = await insertTurn(sql, call);
    } catch (error) {
      if (dividedByZero(error)) return { kind: 'foreign' };
      // A row of our own previous attempt may violate either key first.
      const key = violatedKey(error);
      if (key !== 'lane_item_dedupe' && key !== 'turn_pkey') throw error;
      const known = await acceptedBefore(sql, call, attempt);
      if (known === undefined) throw error;
      return known;
    }
    if (row === undefined)
      return (await acceptedBefore(sql, call, attempt)) ?? (await refusedBecause(sql, call));
    const { opened, ...accepted } = row;
    const heads = await settleHeads(sql, accepted.heads, call.node ?? '', call.claim);
    const [head] = heads;
    if (head !== undefined && call.opens !== undefined && opened !== null)
      head.opened = openedAtOnce(opened, { address: call.opens.address, placeholder: call.placeholder });
    return { kind: 'accepted', turnId: call.turnId, ...accepted, heads };
  });
}

/**
 * The call for a request. The turn's id is created once, so that a call whose answer was lost recognizes its own row.
 */
export function acceptCall(request: AcceptRequest, newSessions: SessionStart): AcceptCall {
  const { message, address, entry, silentToken, model, profileId, usualModel, mode, plan, options, isOwner } =
    request;
  const turnId = newId();
  const choice = { model, profileId, usualModel, mode, plan, options, isOwner };
  const payload: TurnPayload = { turnId, address, message, entry, silentToken, ...choice };
  return {
    turnId,
    payload: cleanJson(payload),
    dedupe: dedupeKey(message.id),
    // A turn that may stay silent has no user message either.
    shown: silentToken === undefined ? 1 : 0,
    retryOf: null,
    content: cleanText(message.content),
    role: message.channel === 'system' ? 'system' : 'user',
    senderName: message.senderName === undefined ? null : cleanText(message.senderName),
    address: cleanText(address),
    override: message.sessionKey === undefined ? null : cleanText(message.sessionKey),
    ownerTokenId: request.ownerTokenId ?? null,
    anyOwner: request.anyOwner === true || request.ownerTokenId === undefined,
    unlessToolsPending: request.unlessToolsPending === true,
    newSessions: { ...newSessions, ...request.begins },
    begins: request.begins,
    node: request.node,
    claim: turnId,
    placeholder: message.placeholder,
    opens:
      request.historyRows === undefined || request.node === undefined || request.retryOf !== undefined
        ? undefined
        : { turnId, address, userId: memoryOwnerOf(message), limit: request.historyRows },
  };
}

/** One call of `accept`, in all its attempts. */
export interface AcceptCall {
  turnId: string;
  payload: string;
  dedupe: string;
  /** Number of visible messages that this adds to the session: 1 or 0. */
  shown: number;
  /** The first turn of the question that is asked again. */
  retryOf: string | null;
  content: string;
  role: string;
  senderName: string | null;
  address: string;
  override: string | null;
  ownerTokenId: string | null;
  anyOwner: boolean;
  unlessToolsPending: boolean;
  newSessions: SessionStart & SessionChoice;
  begins: SessionChoice | undefined;
  node: string | undefined;
  claim: string;
  placeholder: SentMessage | undefined;
  /** Also read what the turn needs, if it can start at once. */
  opens: (NewTurn & { address: Address }) | undefined;
}

interface AcceptedRow {
  session: SessionKey;
  seq: number;
  laneSeq: number;
  position: number;
  interrupts: boolean;
  heads: HeadRow[];
  opened: Parameters<typeof openedAtOnce>[0] | null;
}

/** Why a lane accepted no message. */
async function refusedBecause(sql: Sql, call: AcceptCall): Promise<AcceptResult> {
  if (call.unlessToolsPending) {
    const [target] = await sql<
      { session: string }[]
    >`with ${targetSession(sql, call)} select session from target`;
    const toolCallIds = await pendingCallIds(sql, target?.session ?? '');
    if (toolCallIds !== undefined) return { kind: 'tools_pending', toolCallIds };
  }
  return { kind: 'full', limit: MAX_PENDING };
}

/** CTE `target`: the session the message belongs to. */
function targetSession(sql: Sql, call: AcceptCall) {
  return sql`target as (
    select coalesce(${call.override}, (select session from address where key = ${call.address}), ${call.address}) as session)`;
}

/**
 * CTE `earlier`: sessions that the chat was in before it shared the one of `target`, or afterwards. A platform may
 * repeat there and then what was said here and now. Most chats have no row in `address`, and therefore none here.
 */
function earlierSessions(sql: Sql, { address }: AcceptCall) {
  return sql`earlier as (
    select was.session from address a, target, jsonb_array_elements_text(a.earlier || to_jsonb(a.key)) as was(session)
    where a.key = ${address} and was.session <> target.session)`;
}

/** Whether an item of an earlier session is this message: other chats were in that session, too. */
function isItsOwn(sql: Sql, { address }: AcceptCall) {
  return sql`lane_item.payload ->> 'address' = ${address}`;
}

/**
 * Number of messages in the session before the one at `tail`, including the running one and excluding those that a
 * stop cancelled.
 */
function positionOf(sql: Sql) {
  return sql`greatest(tail - 1 - ${over(sql)}, 0) + case when head < least(${over(sql)}, tail - 1) then 1 else 0 end`;
}

/** The one statement; undefined if the lane accepts no message. */
export async function insertTurn(sql: Sql, call: AcceptCall): Promise<AcceptedRow | undefined> {
  const { mode, queueMode, profileId, model } = call.newSessions;
  const lane = sql`(
    select 'in:' || session as key from target where not exists (
      select from earlier join lane_item on lane = 'in:' || earlier.session and dedupe = ${call.dedupe}
      where ${isItsOwn(sql, call)})) source`;
  const refuses = call.unlessToolsPending ? waitsForCaller(sql, sql`l.`) : undefined;
  // A turn that ended while this statement waited for the lane has moved its head; what it wrote is not visible here.
  const startsNow =
    call.opens === undefined
      ? sql`false`
      : sql`bumped.owner is not null and bumped.claim = ${call.claim} and bumped.tail = bumped.head + 1
          and bumped.head = coalesce((select head from lane where lane.key = bumped.key), 0)`;
  const [row] = await sql<AcceptedRow[]>`
    with ${liveNode(sql, call.node)},
    ${targetSession(sql, call)},
    ${earlierSessions(sql, call)},
    bumped as (${bumpLane(sql, lane, call.claim, MAX_PENDING, interrupts(sql, call), refuses)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${call.dedupe}, ${call.payload}::jsonb from bumped returning *),
    talk as (
      insert into session as s (key, owner_token_id, message_seq, mode, queue_mode, profile_id, profile_chosen, model)
      select session, ${call.ownerTokenId}, ${call.shown}::int, ${mode}, ${queueMode},
        ${profileId ?? 'default'}, ${profileId !== undefined}, ${model ?? null}
      from target, bumped
      on conflict (key) do update set updated_at = case when ${call.shown} = 1 then now() else s.updated_at end, message_seq =
        -- Dividing by zero undoes the whole statement, also when two tokens make the same session at once.
        case when ${call.anyOwner} or s.owner_token_id = ${call.ownerTokenId} then s.message_seq + ${call.shown}::int else s.message_seq / 0 end
        ${chosenFirst(sql, call)}
      returning s.*),
    begun as (
      insert into turn (id, session, address, lane_seq, user_seq, retry_of, state)
      select ${call.turnId}, talk.key, ${call.address}, bumped.tail, talk.message_seq, ${call.retryOf},
        case when ${startsNow} then 'running' else 'queued' end from talk, bumped),
    said as (
      insert into message (session, seq, turn_id, role, content, sender_name)
      select key, message_seq, ${call.turnId}, ${call.role}, ${call.content}, ${call.senderName}
      from talk where ${call.shown} = 1),
    ${placeholderRow(sql, call)}
    ${call.opens === undefined ? sql`` : sql`${newTurnPast(sql, call.opens)},`}
    heads as (${headsOf(sql, sql`bumped`, call.claim, sql`queued`)})
    select talk.key as session, talk.message_seq as seq, bumped.tail as "laneSeq", ${positionOf(sql)} as position,
      interrupt_seq = head + 1 and tail > head + 1 as interrupts,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads) as heads,
      ${call.opens === undefined ? sql`null` : sql`case when ${startsNow} then ${openedNow(sql, call.opens)} end`} as opened
    from talk, bumped`;
  return row;
}

/** Assignments: a session that files created before its first message gets the chosen settings. */
function chosenFirst(sql: Sql, { begins }: AcceptCall) {
  if (begins === undefined) return sql``;
  const { mode = null, profileId = null, model = null } = begins;
  const isFirst = sql`s.message_seq = 0 and not s.profile_chosen and s.model is null`;
  return sql`,
        mode = case when ${isFirst} then coalesce(${mode}, s.mode) else s.mode end,
        profile_id = case when ${isFirst} then coalesce(${profileId}, s.profile_id) else s.profile_id end,
        profile_chosen = s.profile_chosen or (${isFirst} and ${profileId !== null}),
        model = case when ${isFirst} then ${model} else s.model end`;
}

/** True if a person's message ends the running turn. */
function interrupts(sql: Sql, { role }: AcceptCall) {
  if (role !== 'user') return sql`false`;
  return sql`exists (select from session, target where key = target.session and queue_mode = 'interrupt')`;
}

/** Stores the id of a placeholder that the channel has already sent (a deferred Discord reply) before the turn begins. */
function placeholderRow(sql: Sql, { turnId, placeholder }: AcceptCall) {
  if (placeholder === undefined) return sql``;
  return sql`shown as (${noteParts(sql, turnId, [placeholder], sql`bumped`)}),`;
}

/** What a payload asks for, without what differs between two deliveries of one request. */
function said(sql: Sql, payload: ReturnType<Sql>) {
  return sql`(${payload} - 'turnId' - 'entry' - 'isOwner' #- '{message,timestamp}' #- '{message,senderId}')`;
}

/** The message as it was stored before: by another delivery of it, or by an attempt of this call whose answer was lost. */
export async function acceptedBefore(
  sql: Sql,
  call: AcceptCall,
  attempt: number,
): Promise<AcceptResult | undefined> {
  const [row] = await sql<
    (Omit<AcceptedRow, 'heads' | 'opened'> & { turnId: string; isOwn: boolean; differs: boolean })[]
  >`
    with ${targetSession(sql, call)},
    ${earlierSessions(sql, call)},
    places as (select session, true as current from target union all select session, false from earlier)
    select turn.session, turn.id as "turnId", turn.user_seq as seq, turn.lane_seq as "laneSeq",
      ${positionOf(sql)} as position, interrupt_seq = head + 1 and tail > head + 1 as interrupts,
      (${call.anyOwner} or session.owner_token_id is not distinct from ${call.ownerTokenId}) as "isOwn",
      ${said(sql, sql`lane_item.payload`)} <> ${said(sql, sql`${call.payload}::jsonb`)} as differs
    from places join session on session.key = places.session
      join lane_item on lane_item.lane = 'in:' || places.session and lane_item.dedupe = ${call.dedupe}
        and (places.current or ${isItsOwn(sql, call)})
      join turn on turn.id = lane_item.payload ->> 'turnId' join lane on lane.key = lane_item.lane`;
  if (row === undefined) return undefined;
  if (!row.isOwn) return { kind: 'foreign' };
  if (attempt === 0 || row.turnId !== call.turnId) {
    const { session, turnId, laneSeq, seq, differs } = row;
    return { kind: 'duplicate', session, turnId, laneSeq, seq, differs };
  }
  const { isOwn: _own, differs: _differs, ...own } = row;
  return { kind: 'accepted', ...own, heads: await claimedHeads(sql, call.node ?? '', call.claim) };
}
