/** Turns that wait for a person: parking one with its approval request, deciding requests, and listing them. */
import { randomUUID } from 'node:crypto';
import {
  type ApprovalRecord,
  type ApprovalRule,
  type ApprovalRuleStore,
  type ApprovalStore,
  type ApprovalSubject,
  approvalSubject,
  type BudgetChange,
  MAX_APPROVAL_RULES,
  MAX_LISTED_APPROVALS,
  MAX_LISTED_RULES,
  MAX_WAITING_QUESTIONS,
} from '../../protocol/agent/approvals.ts';
import { FencedError } from '../../protocol/errors.ts';
import type { Fence, LaneStore } from '../../protocol/store/lanes.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import { addressOf, type DeliveryPayload } from '../../protocol/message.ts';
import type { ApprovalDecision } from '../../protocol/store/records.ts';
import { type Database, type Sql, withoutNulls } from '../database/database.ts';
import { bumpLane, dueAfter, dueNow, fromNow, holds, liveNode } from './lane-sql.ts';

/** The functions of `LaneStore` for turns that wait for a person. */
export function createApprovals(database: Database) {
  return {
    alsoAsk: (id, question) => database.run((sql) => alsoAsk(sql, cleanText(id), question)),
    park: (fence, approval) => database.run((sql, attempt) => park(sql, fence, approval, attempt)),
    undoAnswer: (id, userId) =>
      database.run((sql, attempt) => undoAnswer(sql, cleanText(id), cleanText(userId), attempt)),
    decide: (id, decision, decidedBy, detail = {}) => {
      const { name, reason, always: addsRule = false, args, message, undoMs = 0, budget } = detail;
      const by = {
        id: cleanText(decidedBy),
        name: name === undefined ? null : cleanText(name),
        reason: reason === undefined ? null : cleanText(reason),
        always: addsRule && args === undefined,
        more: cleanJson({ changed: args, decidedIn: message, ...(undoMs > 0 && { byNext: true }) }),
        undoMs,
        budget,
      };
      return database.run((sql, attempt) => decide(sql, cleanText(id), decision, by, attempt));
    },
  } satisfies Partial<LaneStore>;
}

/** An earlier stop counts as a denial: the turn is due at once and ends. */
async function park(
  sql: Sql,
  fence: Fence,
  approval: Parameters<LaneStore['park']>[1],
  attempt: number,
): Promise<void> {
  const expires = fromNow(sql, approval.expiresInMs);
  const [row] = await sql<{ held: boolean }[]>`
    with ${liveNode(sql, undefined)},
    freed as (
      -- Due at once if messages wait: who claims the turn lets those of other people go ahead.
      update lane set owner = null,
        ${dueAfter(sql, approval.expiresInMs, sql`tail > greatest(head + 1, joined_seq)`)}
      where ${holds(sql, fence)} returning key, stop_seq > head as stopped),
    parked as (update turn set state = 'parked' from freed where id = ${approval.turnId}),
    asked as (
      insert into approval (id, lane, turn_id, detail, expires_at, state)
      select ${approval.id}, key, ${approval.turnId}, ${cleanJson(approval.detail)}::jsonb, ${expires},
        case when stopped then 'denied' else 'pending' end
      from freed on conflict (id) do nothing)
    ${questionDeliveries(sql, approval)}
    select exists (select 1 from freed) as held`;
  // On a repeat, the previous attempt freed the lane, or the lane has moved on since.
  if (row?.held !== true && attempt === 0) throw new FencedError(fence.lane);
}

/** The deliveries of the request, in the same statement: a crash cannot leave a request undelivered or without its turn. */
function questionDeliveries(sql: Sql, { id, questions = [] }: Parameters<LaneStore['park']>[1]) {
  if (questions.length === 0) return sql``;
  const deliveries = questions.map((question) => {
    const { channel, chatId, threadId } = question.message;
    const lane = `out:${addressOf({ channel, chatId, threadId })}`;
    return { lane, dedupe: question.key ?? question.ref, payload: question };
  });
  return sql`,
    questions as (
      select q.* from freed, jsonb_to_recordset(${cleanJson(deliveries)}::jsonb) as q(lane text, dedupe text, payload jsonb)
      where not stopped),
    bumped as (${bumpLane(sql, sql`(select lane as key from questions) source`, id)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, dedupe, payload from bumped join questions on questions.lane = bumped.key)`;
}

/** The list of chats in the request makes a repeat harmless; a decision at the same moment finds the chat in it or prevents it. */
async function alsoAsk(sql: Sql, id: string, question: DeliveryPayload): Promise<boolean> {
  const address = addressOf(question.message);
  const [row] = await sql<{ asked: boolean }[]>`
    with ${liveNode(sql, undefined)},
    asked as (
      update approval set detail = jsonb_set(detail, '{alsoAsked}', coalesce(detail -> 'alsoAsked', '[]') || to_jsonb(${address}::text))
      where id = ${id} and state = 'pending' and expires_at > now()
        and not coalesce(detail -> 'alsoAsked', '[]') ? ${address}
      returning id),
    bumped as (${bumpLane(sql, sql`(select ${`out:${address}`} as key from asked) source`, id)}),
    queued as (
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${question.ref}, ${cleanJson(question)}::jsonb from bumped)
    select exists (select from asked) as asked`;
  return row?.asked === true;
}

/**
 * Locks the lane before the approval, as a stop does, and as who settles the turn: whatever runs there meanwhile. `target` has the owner
 * as it is behind the lock; the statement itself sees the lane as it was before it waited.
 */
async function decide(
  sql: Sql,
  id: string,
  decision: ApprovalDecision,
  by: {
    id: string;
    name: string | null;
    reason: string | null;
    always: boolean;
    more: string;
    undoMs: number;
    budget: BudgetChange | undefined;
  },
  attempt: number,
): Promise<boolean> {
  const [row] = await sql<{ decided: boolean; mine: boolean | null }[]>`
    with target as (
      select key, owner from lane where key = (select lane from approval where id = ${id}) for update),
    decided as (
      update approval set state = ${decision}, decided_by = ${by.id}, decided_name = ${by.name}, decided_at = now(),
        reason = ${by.reason},
        detail = (detail - 'byNext') || ${by.more}::jsonb
      from target
      where id = ${id} and state = 'pending' and expires_at > now() returning lane, turn_id, detail),
    ${storedRule(sql, by, decision)}
    ${changedBudget(sql, by.budget)}
    woken as (
      update lane set ${by.undoMs > 0 ? dueAfter(sql, by.undoMs) : dueNow(sql)} from decided join target on target.key = decided.lane left join turn on turn.id = decided.turn_id
      where lane.key = decided.lane and target.owner is null and coalesce(turn.state, 'parked') = 'parked')
    select exists (select 1 from decided) as decided,
      (select state = ${decision} and decided_by = ${by.id} from approval where id = ${id}) as mine`;
  return row?.decided === true || (attempt > 0 && row?.mine === true);
}

/** Behind the lane's lock: who claims the turn reads its answer, and it is too late. */
async function undoAnswer(sql: Sql, id: string, userId: string, attempt: number): Promise<boolean> {
  const [row] = await sql<{ undone: boolean; mine: boolean | null }[]>`
    with target as (
      select key from lane where key = (select lane from approval where id = ${id}) and owner is null for update),
    undone as (
      update approval a set state = 'pending', decided_by = null, decided_name = null, decided_at = null,
        detail = detail || '{"replyOnly": true}'
      from target
      where id = ${id} and state = 'approved' and decided_by = ${userId} and detail ? 'byNext' and expires_at > now()
        and exists (select from turn where turn.id = a.turn_id and turn.state = 'parked')
        and not exists (
          select from context c, regexp_match(a.detail ->> 'callKey', '\\.([0-9]{1,9})\\.([0-9]{1,9})$') place
          where c.turn_id = a.turn_id and c.iteration = place[1]::int and c.part = place[2]::int
            and c.kind = 'tool_result')
      returning lane),
    woken as (update lane set ${dueNow(sql)} from undone where key = undone.lane)
    select exists (select from undone) as undone,
      (select state = 'pending' and detail ? 'replyOnly' from approval where id = ${id}) as mine`;
  return row?.undone === true || (attempt > 0 && row?.mine === true);
}

/** The rule that the request offers, in the same statement; nothing if the session is at its limit. */
function storedRule(sql: Sql, by: { id: string; name: string | null; always: boolean }, decision: string) {
  if (!by.always || decision !== 'approved') return sql``;
  return sql`
    ruled as (
      insert into approval_rule (id, session, digest, tool, args, user_id, created_by, created_name)
      select ${randomUUID()}, session, detail ->> 'rule', detail ->> 'tool',
        case when detail ? 'target' then jsonb_build_object('to', detail #>> '{target,address}', 'chat', detail #>> '{target,label}')
          else coalesce(detail -> 'args', 'null') end,
        detail ->> 'userId', ${by.id}, ${by.name}
      from (select substr(lane, strpos(lane, ':') + 1) as session, detail from decided where detail ->> 'rule' is not null) asked
      where (select count(*) from approval_rule r where r.session = asked.session) < ${MAX_APPROVAL_RULES}
      on conflict (session, digest) do nothing),`;
}

/** What a decision about a budget does to it, in the same statement. */
function changedBudget(sql: Sql, change: BudgetChange | undefined) {
  if (change === undefined) return sql``;
  const set = 'more' in change ? sql`more = more + ${change.more}::bigint` : sql`refused = true`;
  return sql`
    budgeted as (update budget set ${set} from decided where budget.key = ${change.key}),`;
}

/** A request with its subject, which is not checked yet. */
type ApprovalRow = ApprovalRecord & { detail: unknown };

/** Reads approval requests. Rows with an unreadable subject are left out, since they cannot be decided. */
export function createApprovalStore(database: Database): ApprovalStore {
  return {
    ...createApprovalRules(database),
    approval: (id) =>
      database.run(async (sql) => {
        const rows = await sql<ApprovalRow[]>`${select(sql)} where a.id = ${cleanText(id)}`;
        return withoutNulls(rows).flatMap(toRecord)[0];
      }),
    lastManifest: (session, { tool, args, userId }) =>
      database.run(async (sql) => {
        const [row] = await sql<{ manifest: ApprovalSubject['manifest'] }[]>`
          select a.detail -> 'manifest' as manifest from turn t join approval a on a.turn_id = t.id
          where t.session = ${cleanText(session)} and a.state = 'approved' and a.detail ->> 'tool' = ${tool}
            and a.detail ->> 'userId' = ${userId} and a.detail -> 'args' = ${cleanJson(args)}::jsonb
          order by a.created_at desc limit 1`;
        return row?.manifest ?? undefined;
      }),
    asksOther: (session, callKey, except) =>
      database.run(async (sql) => {
        const [row] = await sql<{ asks: boolean }[]>`${asksOther(sql, cleanText(session), callKey, except)}`;
        return row?.asks === true;
      }),
    questions: (of) =>
      database.run(async (sql) => {
        const which =
          'userId' in of
            ? sql`a.detail ? 'question' and a.detail #>> '{question,userId}' = ${cleanText(of.userId)}`
            : sql`a.lane = ${`in:${cleanText(of.session)}`} and a.detail ? 'question' and a.state = 'pending' and a.expires_at > now()`;
        const rows = await sql<ApprovalRow[]>`
          ${select(sql)} where ${which} order by a.created_at desc limit ${2 * MAX_WAITING_QUESTIONS}`;
        return withoutNulls(rows).flatMap(toRecord);
      }),
    pendingBudgets: (key) =>
      database.run(async (sql) => {
        const rows = await sql<ApprovalRow[]>`
          ${select(sql)} where a.state = 'pending' and a.expires_at > now() and a.detail #>> '{budget,key}' = ${key}
          order by a.created_at limit ${MAX_LISTED_APPROVALS}`;
        return withoutNulls(rows).flatMap(toRecord);
      }),
    pendingApprovals: ({ session, ownerTokenId, limit }) =>
      database.run(async (sql) => {
        const inSession = session === undefined ? sql`` : sql`and a.lane = ${`in:${cleanText(session)}`}`;
        const ofOwner = ownerTokenId === undefined ? sql`` : sql`and s.owner_token_id = ${ownerTokenId}`;
        const rows = await sql<ApprovalRow[]>`
          ${select(sql)} where a.state = 'pending' and a.expires_at > now() and not a.detail ? 'question' ${inSession} ${ofOwner}
          order by a.created_at limit ${Math.min(limit, MAX_LISTED_APPROVALS)}`;
        return withoutNulls(rows).flatMap(toRecord);
      }),
  };
}

/**
 * Looks at the newest request of each turn of the session that has begun and not ended. An approved call has begun once its
 * intent or result is in the journal of the turn or its subagent.
 */
function asksOther(sql: Sql, session: string, callKey: string, except: string | undefined) {
  return sql`
    with newest as (
      select distinct on (turn.id) a.state, a.detail ->> 'callKey' as call, coalesce(a.detail -> 'plan', a.detail -> 'question') as other
      from lane join turn on turn.session = ${session} and turn.lane_seq > lane.head and turn.state in ('running', 'parked')
          and turn.id is distinct from ${except ?? null}
        join approval a on a.turn_id = turn.id
      where lane.key = ${`in:${session}`} order by turn.id, a.created_at desc),
    parts as (
      select *, regexp_match(call, '^(.*)\\.([0-9]{1,9})\\.([0-9]{1,9})$') as place from newest
      where state <> 'denied' and other is null and call <> ${callKey})
    select exists (
      select from parts where state = 'pending' or not exists (
        select from context c where c.turn_id = place[1] and c.iteration = place[2]::int and c.part = place[3]::int
          and c.kind in ('tool_intent', 'tool_result'))) as asks`;
}

function select(sql: Sql) {
  return sql`
    select a.id, substr(a.lane, strpos(a.lane, ':') + 1) as session, a.turn_id as "turnId", a.detail - 'manifest' as detail, a.state,
      (select m.sender_name from message m join turn t on t.session = m.session and t.user_seq = m.seq
        where t.id = a.turn_id and m.turn_id = t.id) as "askedBy", a.decided_by as "decidedBy",
      a.decided_name as "decidedName", a.reason, a.decided_at as "decidedAt", a.created_at as "createdAt", a.expires_at as "expiresAt",
      (a.decided_by = 'expiry' or (a.state = 'pending' and a.expires_at <= now())) is true as expired,
      s.owner_token_id as "ownerTokenId",
      (select coalesce(jsonb_agg(address), '[]') from surface
        where surface.session = s.key and surface.place = 'private'
          and exists (select from surface asked where asked.session = s.key and asked.place = 'private'
            and asked.address = a.detail ->> 'address')) as surfaces
    from approval a left join session s on s.key = substr(a.lane, strpos(a.lane, ':') + 1)`;
}

function toRecord({ detail, ...row }: ApprovalRow): ApprovalRecord[] {
  const subject = approvalSubject.safeParse(detail);
  return subject.success ? [{ ...subject.data, ...row }] : [];
}

/** The `ApprovalRuleStore` over a database. */
function createApprovalRules(database: Database): ApprovalRuleStore {
  return {
    rules: (filter) =>
      database.rows(
        (sql) => sql<ApprovalRule[]>`
          select r.id, r.session, r.tool, r.args, r.user_id as "userId", r.created_by as "createdBy",
            r.created_name as "createdName", r.created_at as "createdAt", r.uses, r.used_at as "usedAt"
          from approval_rule r where ${among(sql, filter)}
          order by r.created_at desc, r.id limit ${MAX_LISTED_RULES}`,
      ),
    hasRule: (session, digest) =>
      database.exists(
        (sql) => sql`
          select 1 from approval_rule where session = ${cleanText(session)} and digest = ${digest}`,
      ),
    useRule: (session, digest) =>
      database.run(async (sql) => {
        const [row] = await sql<{ id: string }[]>`
          update approval_rule set uses = uses + 1, used_at = now()
          where session = ${cleanText(session)} and digest = ${digest} returning id`;
        return row?.id;
      }),
    removeRule: (id, filter) =>
      database.once(
        (sql) => sql`
          delete from approval_rule r where r.id = ${cleanText(id)} and ${among(sql, filter)} returning r.id`,
      ),
  };
}

function among(sql: Sql, { session, ownerTokenId }: Parameters<ApprovalRuleStore['rules']>[0]) {
  const inSession = session === undefined ? sql`true` : sql`r.session = ${cleanText(session)}`;
  if (ownerTokenId === undefined) return inSession;
  return sql`${inSession} and exists (
    select from session s where s.key = r.session and s.owner_token_id = ${ownerTokenId})`;
}
