/** Nodes and their leases: who may claim lanes, and what happens to the lanes of dead nodes. */
import type { LaneHead, LaneCapacity, LaneStore } from '../../contracts/lanes.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Sql } from '../database/database.ts';
import { claimedHeads, type HeadRow, headsOf, settleHeads } from './lane-sql.ts';

type NodeStore = Pick<LaneStore, 'register' | 'heartbeat' | 'unregister' | 'sweep' | 'flags'>;

/** Rows of dead nodes are kept this long, so that a process that was frozen finds that its lease has ended. */
const DEAD_NODE_DAYS = 7;

export function createNodes(database: Database): NodeStore {
  return {
    register: (instance, leaseMs) => database.transaction((sql) => register(sql, instance, leaseMs)),
    heartbeat: (node, leaseMs) =>
      database.run(async (sql) => {
        const rows = await sql`
          update node set lease_until = ${leaseEnd(sql, leaseMs)} where id = ${node} and lease_until > now() returning id`;
        return rows.length > 0;
      }),
    unregister: (node) =>
      database.run(async (sql) => {
        await sql`
          with gone as (update node set lease_until = now() where id = ${node})
          update lane set owner = null where owner = ${node}`;
      }),
    sweep(node, capacities) {
      const claim = newId();
      return database.run((sql, attempt) => sweep(sql, node, capacities, claim, attempt));
    },
    flags: (node) =>
      database.run(async (sql) => [
        ...(await sql<{ lane: `in:${string}`; stopSeq: number; interruptSeq: number }[]>`
          select key as lane, stop_seq as "stopSeq", interrupt_seq as "interruptSeq" from lane
          where owner = ${node} and (stop_seq > head or interrupt_seq > head)`),
      ]),
  };
}

function leaseEnd(sql: Sql, leaseMs: number) {
  return sql`now() + ${leaseMs}::float8 * interval '1 millisecond'`;
}

/** The earlier process of the same home is certainly dead, because this one holds the home's lock. */
async function register(sql: Sql, instance: string, leaseMs: number): Promise<string> {
  const id = newId();
  await sql`update node set lease_until = now() where instance = ${instance} and lease_until > now()`;
  await sql`
    delete from node where lease_until < now() - ${DEAD_NODE_DAYS} * interval '1 day'
      and not exists (select 1 from lane where owner = node.id)`;
  await sql`insert into node (id, instance, lease_until) values (${id}, ${instance}, ${leaseEnd(sql, leaseMs)})`;
  await releaseDeadNodes(sql);
  return id;
}

/** Frees the lanes of dead nodes; each adds a crash to the message that was being worked on. */
async function releaseDeadNodes(sql: Sql): Promise<void> {
  await sql`
    with orphaned as (
      select key, head from lane where owner in (select id from node where lease_until <= now()) for update skip locked),
    freed as (update lane set owner = null from orphaned where lane.key = orphaned.key returning lane.key, lane.head)
    update lane_item set crashes = crashes + 1 from freed where lane_item.lane = freed.key and lane_item.seq = freed.head + 1`;
}

async function sweep(
  sql: Sql,
  node: string,
  capacities: LaneCapacity[],
  claim: string,
  attempt: number,
): Promise<LaneHead[]> {
  if (attempt > 0) {
    // The answer of an earlier attempt may have been lost after its commit: no one else knows of its claims.
    const claimed = await claimedHeads(sql, node, claim);
    if (claimed.length > 0) return claimed;
  }
  await releaseDeadNodes(sql);
  const rows = await sql<HeadRow[]>`
    with capacity as (select * from jsonb_to_recordset(${JSON.stringify(capacities)}::jsonb) as c(class text, free int)),
    due as (
      select found.key from capacity cross join lateral (
        select key from lane
        where lane.class = capacity.class and tail > head and owner is null and wake_at <= now()
        order by wake_at limit greatest(capacity.free, 0) for update skip locked) found),
    claimed as (
      update lane set owner = ${node}, epoch = epoch + 1, claim = ${claim} from due
      where lane.key = due.key and exists (select 1 from node where id = ${node} and lease_until > now())
      returning lane.*)
    ${headsOf(sql, sql`claimed`, claim)}`;
  return settleHeads(sql, rows, node, claim);
}
