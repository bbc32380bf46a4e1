/** T1: people's messages become queued turns, in one statement. */
import type { AcceptRequest, AcceptResult, TurnPayload } from '../../protocol/store/accept.ts';
import { MAX_PENDING } from '../../protocol/store/ledger.ts';
import { newId } from '../../lib/ids.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import { type Address, memoryOwnerOf, type SentMessage, type SessionKey } from '../../protocol/message.ts';
import type { SessionChoice, SessionStart } from '../../protocol/store/records.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { openedAtOnce, openedNow } from './open-turn.ts';
import { createBatches } from '../database/batches.ts';
import { pendingCallIds, waitsForCaller } from '../lanes/caller-tools.ts';
import { noteParts } from '../lanes/deliveries.ts';
import {
  bumpLane,
  claimedHeads,
  dedupeKey,
  type HeadRow,
  headsOf,
  liveNode,
  over,
  settleHeads,
} from '../lanes/lane-sql.ts';
import { dividedByZero, violatedKey } from '../database/retry.ts';

/** `Ledger.accept` of new messages: those that arrive while a statement is on its way are accepted together by the next one. */
export function createAccept(
  database: Database,
  newSessions: SessionStart,
): (request: AcceptRequest) => Promise<AcceptResult> {
  const acceptTogether = createBatches<AcceptCall, AcceptResult>(database, {
    keyOf: ({ override, address }) => override ?? address,
    run: acceptCalls,
  });
  return async (request) => {
    const call = acceptCall(request, newSessions);
    if (call.placeholder === undefined) return await acceptTogether(call);
    const [result] = await database.run((sql, attempt) => acceptCalls(sql, [call], attempt));
    return result!;
  };
}

/** Throws for several calls when one of them is not accepted because of its key or its owner. */
async function acceptCalls(sql: Sql, calls: readonly AcceptCall[], attempt: number): Promise<AcceptResult[]> {
  const [first] = calls;
  try {
    const rows = new Map((await insertTurns(sql, calls)).map((row) => [row.turnId, row]));
    return await Promise.all(calls.map((call) => resultOf(sql, call, rows.get(call.turnId), attempt)));
  } catch (error) {
    if (first === undefined || calls.length > 1) throw error;
    if (dividedByZero(error)) return [{ kind: 'foreign' }];
    // A row of our own previous attempt may violate either key first.
    const key = violatedKey(error);
    if (key !== 'lane_item_dedupe' && key !== 'turn_pkey') throw error;
    const previous = await acceptedBefore(sql, first, attempt);
    if (previous === undefined) throw error;
    return [previous];
  }
}

async function resultOf(
  sql: Sql,
  call: AcceptCall,
  row: AcceptedRow | undefined,
  attempt: number,
): Promise<AcceptResult> {
  if (row === undefined)
    return (await acceptedBefore(sql, call, attempt)) ?? (await refusedBecause(sql, call));
  const { opened: openTurn, ...accepted } = row;
  const heads = await settleHeads(sql, accepted.heads, call.node ?? '', call.turnId);
  const [head] = heads;
  if (head !== undefined && openTurn !== null)
    head.opened = openedAtOnce(openTurn, call.askedAt, call.placeholder);
  return { kind: 'accepted', ...accepted, heads };
}

/** The call for a request. Its turn id is created once, so that a call whose answer was lost finds its own row. */
export function acceptCall(request: AcceptRequest, newSessions: SessionStart): AcceptCall {
  const { message, address, entry, silentToken, model, profileId, usualModel, mode, plan, options } = request;
  const turnId = newId();
  const { question, isOwner } = request;
  const choice = { model, profileId, usualModel, mode, plan, options, question, isOwner };
  const payload: TurnPayload = { turnId, address, message, entry, silentToken, ...choice };
  return {
    turnId,
    payload,
    dedupe: dedupeKey(message.id),
    // A turn that may stay silent has no user message either.
    shown: silentToken === undefined ? 1 : 0,
    retryOf: null,
    content: cleanText(message.content),
    role: message.channel === 'system' ? 'system' : 'user',
    senderName: message.senderName === undefined ? null : cleanText(message.senderName),
    address: cleanText(address),
    askedAt: address,
    override: message.sessionKey === undefined ? null : cleanText(message.sessionKey),
    ownerTokenId: request.ownerTokenId ?? null,
    anyOwner: request.anyOwner === true || request.ownerTokenId === undefined,
    unlessToolsPending: request.unlessToolsPending === true,
    newSessions: { ...newSessions, ...request.begins },
    begins: request.begins,
    node: request.node,
    placeholder: message.placeholder,
    userId: cleanText(memoryOwnerOf(message)),
    historyRows:
      request.retryOf === undefined && request.node !== undefined ? request.historyRows : undefined,
  };
}

/** One call of `accept`, in all its attempts. */
export interface AcceptCall {
  /** It also names the claim. */
  turnId: string;
  payload: object;
  dedupe: string;
  /** Number of visible messages that this adds to the session: 1 or 0. */
  shown: number;
  /** The first turn of the question that is asked again. */
  retryOf: string | null;
  content: string;
  role: string;
  senderName: string | null;
  address: string;
  /** The same as the request has it. */
  askedAt: Address;
  override: string | null;
  ownerTokenId: string | null;
  anyOwner: boolean;
  unlessToolsPending: boolean;
  newSessions: SessionStart & SessionChoice;
  begins: SessionChoice | undefined;
  node: string | undefined;
  placeholder: SentMessage | undefined;
  userId: string;
  /** Also read what the turn needs, if it can start at once, with so many rows of earlier turns. */
  historyRows: number | undefined;
}

/** Where a message was stored. */
interface StoredMessage {
  turnId: string;
  session: SessionKey;
  seq: number;
  laneSeq: number;
  position: number;
  interrupts: boolean;
}

interface AcceptedRow extends StoredMessage {
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
 * CTE `earlier`: sessions of the chat before or after the one of `target`, in which its platform may repeat a message.
 * Most chats have no row in `address`, and therefore none here.
 */
function earlierSessions(sql: Sql, { address }: AcceptCall) {
  return sql`earlier as (
    select was.session from address a, target, jsonb_array_elements_text(a.earlier || to_jsonb(a.key)) as was(session)
    where a.key = ${address} and was.session <> target.session)`;
}

/** Messages in the session before the one at `tail`, including the running one, without those a stop cancelled. */
function positionOf(sql: Sql) {
  return sql`greatest(tail - 1 - ${over(sql)}, 0) + case when head < least(${over(sql)}, tail - 1) then 1 else 0 end`;
}

/** CTE `asked`: the calls, each with its session. */
function askedCalls(sql: Sql, calls: readonly AcceptCall[]) {
  return sql`asked as (
      select c."turnId" as turn_id, c.payload, c.dedupe, c.shown, c."retryOf" as retry_of, c.content, c.role,
        c."senderName" as sender_name, c.address, c."ownerTokenId" as owner_token_id, c."anyOwner" as any_owner, n.mode,
        n."queueMode" as queue_mode, n."profileId" as profile_id, n.model, c.begins,
        c."unlessToolsPending" as unless_tools_pending, c."userId" as user_id, c."historyRows" as history_rows,
        coalesce(c.override, (select session from address where key = c.address), c.address) as session
      from jsonb_to_recordset(${cleanJson(calls)}::jsonb) as c(
        "turnId" text, payload jsonb, dedupe text, shown int, "retryOf" text, content text, role text, "senderName" text,
        address text, override text, "ownerTokenId" text, "anyOwner" boolean, "newSessions" jsonb, begins jsonb,
        "unlessToolsPending" boolean, "userId" text, "historyRows" int),
        jsonb_to_record(c."newSessions") as n(mode text, "queueMode" text, "profileId" text, model text))`;
}

/**
 * One statement for calls of one node to different sessions; no row for a refused call. Only a single call may have a
 * placeholder.
 */
export async function insertTurns(sql: Sql, calls: readonly AcceptCall[]): Promise<AcceptedRow[]> {
  const single = calls.length === 1 ? calls[0] : undefined;
  const lanes = sql`(
    select 'in:' || session as key, turn_id, role = 'user' and exists (
      select from session where key = asked.session and queue_mode = 'interrupt') as interrupts
    from asked where not exists (
      select from address a, jsonb_array_elements_text(a.earlier || to_jsonb(a.key)) as was(session)
        join lane_item on lane = 'in:' || was.session and dedupe = asked.dedupe
      where a.key = asked.address and was.session <> asked.session
        and lane_item.payload ->> 'address' = asked.address)) source`;
  const refuses = sql`${waitsForCaller(sql, sql`l.`)}
    and exists (select from asked where 'in:' || asked.session = l.key and unless_tools_pending)`;
  const bump = bumpLane(sql, lanes, sql`source.turn_id`, MAX_PENDING, sql`source.interrupts`, refuses);
  const isOwner = sql`s.owner_token_id = excluded.owner_token_id
    or exists (select from asked where asked.session = s.key and any_owner)`;
  const opens = calls.some(({ historyRows }) => historyRows !== undefined);
  return await sql<AcceptedRow[]>`
    with ${liveNode(sql, calls[0]?.node)},
    ${askedCalls(sql, calls)},
    bumped as (${bump}),
    -- A turn that ended while this statement waited for the lane has moved its head; what it wrote is not visible here.
    placed as (
      select asked.*, b.head, b.tail, b.stop_seq, b.joined_seq, b.interrupt_seq, asked.history_rows is not null
        and b.owner is not null and b.claim = asked.turn_id and b.tail = b.head + 1
        and b.head = coalesce((select head from lane where lane.key = b.key), 0) as starts_now
      from bumped b join asked on b.key = 'in:' || asked.session),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select 'in:' || session, tail, dedupe, payload from placed returning *),
    talk as (
      insert into session as s (key, owner_token_id, message_seq, mode, queue_mode, profile_id, profile_chosen, model)
      select session, owner_token_id, shown, mode, queue_mode, coalesce(profile_id, 'default'), profile_id is not null, model
      from placed
      on conflict (key) do update set updated_at = case when excluded.message_seq = 1 then now() else s.updated_at end,
        -- Dividing by zero undoes the whole statement, also when two tokens make the same session at once.
        message_seq = case when ${isOwner} then s.message_seq + excluded.message_seq else s.message_seq / 0 end,
        ${chosenFirst(sql)}
      returning s.*),
    begun as (
      insert into turn (id, session, address, lane_seq, user_seq, retry_of, state)
      select p.turn_id, p.session, p.address, p.tail, talk.message_seq, p.retry_of,
        case when p.starts_now then 'running' else 'queued' end
      from placed p join talk on talk.key = p.session),
    said as (
      insert into message (session, seq, turn_id, role, content, sender_name)
      select p.session, talk.message_seq, p.turn_id, p.role, p.content, p.sender_name
      from placed p join talk on talk.key = p.session where p.shown = 1),
    ${single === undefined ? sql`` : placeholderRow(sql, single)}
    heads as (${headsOf(sql, sql`bumped`, sql`select turn_id from asked`, sql`queued`)})
    select p.turn_id as "turnId", p.session, talk.message_seq as seq, p.tail as "laneSeq", ${positionOf(sql)} as position,
      interrupt_seq = head + 1 and tail > head + 1 as interrupts,
      (select coalesce(jsonb_agg(to_jsonb(heads)), '[]') from heads where heads.lane = 'in:' || p.session) as heads,
      ${opens ? sql`case when p.starts_now then ${openedNow(sql)} end` : sql`null`} as opened
    from placed p join talk on talk.key = p.session`;
}

/** Assignments: a session that files created before its first message gets the chosen settings. */
function chosenFirst(sql: Sql) {
  const isFirst = sql`s.message_seq = 0 and not s.profile_chosen and s.model is null`;
  const setting = (name: string) => sql`(select begins ->> ${name} from asked where asked.session = s.key)`;
  return sql`
        mode = case when ${isFirst} then coalesce(${setting('mode')}, s.mode) else s.mode end,
        profile_id = case when ${isFirst} then coalesce(${setting('profileId')}, s.profile_id) else s.profile_id end,
        profile_chosen = s.profile_chosen or (${isFirst} and ${setting('profileId')} is not null),
        model = case when ${isFirst} then ${setting('model')} else s.model end`;
}

/** Stores the id of a placeholder that the channel has already sent (a deferred Discord reply) before the turn begins. */
function placeholderRow(sql: Sql, { turnId, placeholder }: AcceptCall) {
  if (placeholder === undefined) return sql``;
  return sql`shown as (${noteParts(sql, turnId, [placeholder], sql`bumped`)}),`;
}

/** What a payload asks for, without what differs between two deliveries of one request. */
function contentOf(sql: Sql, payload: Fragment) {
  return sql`(${payload} - 'turnId' - 'entry' - 'isOwner' - 'question' #- '{message,timestamp}' #- '{message,senderId}')`;
}

/** The message as it was stored before: by another delivery of it, or by an attempt of this call whose answer was lost. */
export async function acceptedBefore(
  sql: Sql,
  call: AcceptCall,
  attempt: number,
): Promise<AcceptResult | undefined> {
  const [row] = await sql<(StoredMessage & { isOwn: boolean; differs: boolean })[]>`
    with ${targetSession(sql, call)},
    ${earlierSessions(sql, call)},
    places as (select session, true as current from target union all select session, false from earlier)
    select turn.session, turn.id as "turnId", turn.user_seq as seq, turn.lane_seq as "laneSeq",
      ${positionOf(sql)} as position, interrupt_seq = head + 1 and tail > head + 1 as interrupts,
      (${call.anyOwner} or session.owner_token_id is not distinct from ${call.ownerTokenId}) as "isOwn",
      ${contentOf(sql, sql`lane_item.payload`)} <> ${contentOf(sql, sql`${cleanJson(call.payload)}::jsonb`)} as differs
    from places join session on session.key = places.session
      join lane_item on lane_item.lane = 'in:' || places.session and lane_item.dedupe = ${call.dedupe}
        and (places.current or lane_item.payload ->> 'address' = ${call.address})
      join turn on turn.id = lane_item.payload ->> 'turnId' join lane on lane.key = lane_item.lane`;
  if (row === undefined) return undefined;
  if (!row.isOwn) return { kind: 'foreign' };
  if (attempt === 0 || row.turnId !== call.turnId) {
    const { session, turnId, laneSeq, seq, differs } = row;
    return { kind: 'duplicate', session, turnId, laneSeq, seq, differs };
  }
  const { isOwn: _own, differs: _differs, ...message } = row;
  return { kind: 'accepted', ...message, heads: await claimedHeads(sql, call.node ?? '', call.turnId) };
}
