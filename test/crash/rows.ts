/** What the database holds: right after a kill, to see where it struck, and at the end, to see how everything turned out. */
import postgres from 'postgres';

/** A journal row of a turn. */
export interface JournalRow {
  iteration: number;
  kind: string;
  part: number;
  toolNames: string[];
}

/** A turn that was in progress when the process died. */
export interface OpenTurn {
  id: string;
  address: string;
  /** The home that ran it; null while none did. */
  instance: string | null;
  state: 'queued' | 'running' | 'parked';
  question: string;
  journal: JournalRow[];
  /** Stored ids of its messages on screen; null when none are stored. */
  parts: string[] | null;
}

/** A delivery that was in progress. */
export interface OpenDelivery {
  ref: string;
  parts: string[] | null;
}

export interface KillRows {
  turns: OpenTurn[];
  deliveries: OpenDelivery[];
}

/** Where rows are read from. */
export type TablePlace = { url: string } | { socketPath: string };

/** A client with one connection. */
export function connect(place: TablePlace): postgres.Sql {
  const options = { max: 1, fetch_types: false, onnotice: () => undefined };
  return 'url' in place
    ? postgres(place.url, options)
    : postgres({ ...options, path: place.socketPath, user: 'postgres', database: 'postgres' });
}

/** Everything that is not finished. */
export async function readOpen(sql: postgres.Sql): Promise<KillRows> {
  const turns = await sql<OpenTurn[]>`
    select turn.id, turn.address, turn.state, message.content as question,
      (select instance from lane join node on node.id = owner
        where key = 'in:' || turn.session and head + 1 = turn.lane_seq) as instance,
      (select jsonb_agg(part ->> 'id') from delivery, jsonb_array_elements(parts) part where ref = turn.id) as parts,
      coalesce((
        select jsonb_agg(jsonb_build_object('iteration', iteration, 'kind', kind, 'part', part, 'toolNames', coalesce(
          (select jsonb_agg(call ->> 'name') from jsonb_array_elements(payload -> 'toolCalls') call), '[]')) order by seq)
        from context where turn_id = turn.id), '[]') as journal
    from turn join message on message.session = turn.session and message.seq = turn.user_seq
    where turn.state <> 'done'`;
  const deliveries = await sql<OpenDelivery[]>`
    select lane_item.payload ->> 'ref' as ref,
      (select jsonb_agg(part ->> 'id') from delivery, jsonb_array_elements(parts) part where ref = lane_item.payload ->> 'ref') as parts
    from lane join lane_item on lane_item.lane = lane.key and lane_item.seq > lane.head where lane.class = 'out'`;
  return { turns: [...turns], deliveries: [...deliveries] };
}

/** A finished turn. */
export interface TurnRow {
  id: string;
  session: string;
  laneSeq: number;
  userSeq: number;
  state: string;
  reason: string | null;
  question: string;
  /** Texts of all its assistant messages except plans. */
  answers: string[];
  /** `seq` of the last one. */
  finalSeq: number | null;
}

/** Ended by anything but an answer. */
export function isFailed({ state, reason }: TurnRow): boolean {
  return state === 'done' && reason !== 'completed' && reason !== 'joined';
}

export interface FinalRows {
  /** By session and order of acceptance. */
  turns: TurnRow[];
  /** Platform ids of all parts, by turn. */
  parts: Map<string, string[]>;
  deadLetters: number;
}

export async function readFinal(sql: postgres.Sql): Promise<FinalRows> {
  const turns = await sql<TurnRow[]>`
    select id, session, lane_seq as "laneSeq", user_seq as "userSeq", state, reason, final_seq as "finalSeq",
      (select content from message where message.session = turn.session and seq = turn.user_seq) as question,
      coalesce((select jsonb_agg(content order by seq) from message where turn_id = turn.id and role = 'assistant' and not is_plan), '[]') as answers
    from turn order by session, lane_seq`;
  const parts = await sql<{ ref: string; ids: string[] }[]>`
    select ref, jsonb_agg(part ->> 'id') as ids from delivery, jsonb_array_elements(parts) part group by ref`;
  const [dead] = await sql<{ count: number }[]>`select count(*)::int as count from lane_item where dead`;
  return {
    turns: [...turns],
    parts: new Map(parts.map(({ ref, ids }) => [ref, ids])),
    deadLetters: dead?.count ?? 0,
  };
}

/** How many lanes a home's processes hold. */
export async function heldLanes(sql: postgres.Sql, instance: string): Promise<number> {
  const rows = await sql`select from lane join node on node.id = owner where instance = ${instance}`;
  return rows.length;
}

/** Nodes of a home's workers that hold a lease: the id of each by the worker's instance. */
export async function workersOf(sql: postgres.Sql, home: string): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; instance: string }[]>`
    select id, instance from node where starts_with(instance, ${`${home}:`}) and lease_until > now()`;
  return new Map(rows.map(({ id, instance }) => [instance, id]));
}

/** Number of turns, in any state. */
export async function countTurns(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from turn`;
  return row?.count ?? 0;
}

/** Lanes with messages that belong to a node whose lease has expired: no one works on them. */
export async function abandonedLanes(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ key: string }[]>`
    select key from lane join node on node.id = owner where tail > head and lease_until < now() - interval '15 seconds'`;
  return rows.map(({ key }) => key);
}

/** How often each task of a session's schedules became a turn, by its text. */
export async function schedulesRun(sql: postgres.Sql, session: string): Promise<Map<string, number>> {
  const rows = await sql<{ task: string; count: number }[]>`
    select substring(payload::text from 'Task number [0-9]+\\.') as task, count(*)::int as count
    from lane_item where lane = ${`in:${session}`} and payload::text like '%Task number%' group by 1`;
  return new Map(rows.map(({ task, count }) => [task, count]));
}

/** The plans of each turn: its question, their number, and those that have not ended. */
export async function plansOfTurns(
  sql: postgres.Sql,
): Promise<{ question: string; plans: number; open: number }[]> {
  return await sql<{ question: string; plans: number; open: number }[]>`
    select message.content as question, count(*)::int as plans,
      count(*) filter (where doc ->> 'state' not in ('completed', 'cancelled'))::int as open
    from plan join turn on turn.id = plan.turn_id
    join message on message.session = turn.session and message.seq = turn.user_seq group by turn.id, 1`;
}

/** How many messages and deliveries were ever finished: dead ones, too. */
export async function finishedCount(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(head), 0)::int as count from lane where class in ('in', 'out')`;
  return row?.count ?? 0;
}

/** How many messages and deliveries are waiting or running. */
export async function pendingCount(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(tail - head), 0)::int as count from lane where class in ('in', 'out') and tail > head`;
  return row?.count ?? 0;
}

/** How many messages are suspected of having ended the process that worked on them. */
export async function suspectCount(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from lane where suspect_group > 0 and tail > head`;
  return row?.count ?? 0;
}

/** Makes requests that wait as old as those that reach owners in their private chats, too; the requests of a turn keep their order. */
export async function ageRequests(sql: postgres.Sql): Promise<void> {
  await sql`
    update approval set created_at = created_at - interval '20 minutes'
    where turn_id in (
      select turn_id from approval
      where state = 'pending' and not detail ? 'question' and created_at > now() - interval '10 minutes')`;
}

/** What the model read as the results of calls that ask a person. */
export async function answersRead(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ content: string }[]>`
    select payload ->> 'content' as content from context where kind = 'tool_result' and payload ->> 'toolName' = 'ask'`;
  return rows.map(({ content }) => content);
}

/** Messages, deliveries and subagents that have not ended. */
export async function openWork(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from lane where class in ('in', 'out', 'agent') and tail > head`;
  return row?.count ?? 0;
}

/** What budgets have spent, what the model was reported to have used, and turns that have ended but hold reserves. */
export async function budgetRows(sql: postgres.Sql) {
  const budgets = await sql<{ key: string; spent: number; more: number }[]>`
    select key, spent::float8 as spent, more::float8 as more from budget`;
  const [row] = await sql<{ used: number }[]>`
    select coalesce(sum(prompt_tokens + completion_tokens), 0)::float8 as used from usage`;
  const holding = await sql<{ holder: string }[]>`
    select distinct holder from budget_hold where holder like 'agent-%'
      or exists (select from turn where turn.id = holder and state = 'done')`;
  return { budgets: [...budgets], used: row?.used ?? 0, turnsHolding: holding.map(({ holder }) => holder) };
}
