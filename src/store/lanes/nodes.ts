/** Nodes and their leases: who may claim lanes, and what happens to the lanes of dead nodes. */
import {
  type LaneCapacity,
  type LaneFlag,
  type LaneHead,
  type LaneStore,
  type NodeOutage,
  SUSPECT_ALONE_MAX_MS,
  SUSPECT_ALONE_MS,
  SUSPECT_CRASHES,
  SUSPECT_SHARE,
} from '../../protocol/store/lanes.ts';
import { newId } from '../../lib/ids.ts';
import type { Database, Sql } from '../database/database.ts';
import { claimedHeads, fromNow, type HeadRow, headsOf, isDue, settleHeads } from './lane-sql.ts';
import type { LiveNode, NodeReportStore } from '../../protocol/operator/nodes.ts';
import { cleanJson } from '../../lib/json/json.ts';

/** Rows of dead nodes are kept this long, so that a process that was frozen finds that its lease has ended. */
const DEAD_NODE_DAYS = 7;

/** The functions of `LaneStore` for nodes; `heartbeats` are connections for them alone, so that they never wait. */
export function createNodes(database: Database, heartbeats: Database) {
  return {
    register: (instance, leaseMs, outage) =>
      database.transaction((sql) => register(sql, instance, leaseMs, outage)),
    heartbeat: (node, leaseMs) =>
      heartbeats.exists(
        (sql) => sql`
          with ${afterClockStep(sql, node, leaseMs)}
          update node set lease_until = ${fromNow(sql, leaseMs)} where id = ${node} and lease_until > now() returning id`,
      ),
    unregister: (node) =>
      database.write(
        (sql) => sql`
          with gone as (update node set lease_until = now() where id = ${node})
          update lane set owner = null where owner = ${node}`,
      ),
    sweep(node, capacities) {
      const claim = newId();
      return database.run((sql, attempt) => sweep(sql, node, capacities, claim, attempt));
    },
    flags: (node) =>
      database.rows(
        (sql) => sql<LaneFlag[]>`
          select key as lane, stop_seq as "stopSeq", interrupt_seq as "interruptSeq" from lane
          where owner = ${node} and (stop_seq > head or interrupt_seq > head)`,
      ),
  } satisfies Partial<LaneStore>;
}

/** CTEs for a clock that was set back: no lane waits longer than its delay, and no dead node's lease lasts longer. */
function afterClockStep(sql: Sql, node: string, leaseMs: number) {
  const delayEnd = sql`now() + delay_ms * interval '1 millisecond'`;
  return sql`
    late_lanes as (
      update lane set wake_at = ${delayEnd}
      where tail > head and owner is null and delay_ms is not null and wake_at > ${delayEnd}),
    late_leases as (
      update node set lease_until = ${fromNow(sql, leaseMs)}
      where id <> ${node} and lease_until > ${fromNow(sql, leaseMs)})`;
}

/** The earlier process of the same home is certainly dead, because this one holds the home's lock. */
async function register(
  sql: Sql,
  instance: string,
  leaseMs: number,
  outage: NodeOutage | undefined,
): Promise<string> {
  const id = newId();
  if (outage !== undefined) await outliveOutage(sql, instance, leaseMs, outage);
  await sql`update node set lease_until = now() where instance = ${instance} and lease_until > now()`;
  await sql`
    delete from node where lease_until < now() - ${DEAD_NODE_DAYS} * interval '1 day'
      and not exists (select 1 from lane where owner = node.id)`;
  await sql`insert into node (id, instance, lease_until) values (${id}, ${instance}, ${fromNow(sql, leaseMs)})`;
  await releaseDeadNodes(sql, id);
  return id;
}

/**
 * Frees the lanes of a process that could not reach the database for longer than its lease, without counting a crash.
 * Other nodes whose leases ended in the same outage get another lease in which to return.
 */
async function outliveOutage(
  sql: Sql,
  instance: string,
  leaseMs: number,
  { node, ms }: NodeOutage,
): Promise<void> {
  await sql`update lane set owner = null where owner = ${node}`;
  await sql`
    update node set lease_until = ${fromNow(sql, leaseMs)}
    where instance <> ${instance} and lease_until <= now() and lease_until > ${fromNow(sql, -ms())}
      and exists (select 1 from lane where owner = node.id)`;
}

/**
 * Frees the lanes of dead nodes, and counts a crash against every head that had begun: not against a turn still queued or
 * parked, a head that was waiting, or an election. `alone` uses the size of the group that was claimed, because the others may
 * have finished. Gateways of database version 0033 note a waiting suspect by a negative group. Does nothing for a node
 * whose own lease has ended: a sweep delayed by an outage would count crashes against its own work.
 */
async function releaseDeadNodes(sql: Sql, by: string): Promise<void> {
  await sql`
    with orphaned as (
      select key, head, class <> 'poll' and not waiting and (class <> 'in' or not exists (
          select from turn where session = substr(key, 4) and lane_seq = head + 1 and state in ('queued', 'parked'))) as begun,
        suspect_group = 1 and not exists (
          select from lane other
          where other.owner = lane.owner and suspect_group > 0 and not waiting and other.key <> lane.key) as alone
      from lane where owner in (select id from node where lease_until <= now())
        and exists (select from node where id = ${by} and lease_until > now()) for update skip locked),
    blamed as (
      update lane_item set crashes = crashes + 1, lone_crashes = lone_crashes + case when alone then 1 else 0 end
      from orphaned where begun and lane_item.lane = key and lane_item.seq = head + 1 returning key, crashes)
    update lane set owner = null,
      suspect_group = case when blamed.crashes >= ${SUSPECT_CRASHES} then greatest(suspect_group, 1) else abs(suspect_group) end
    from orphaned left join blamed using (key) where lane.key = orphaned.key`;
}

async function sweep(
  sql: Sql,
  node: string,
  capacities: LaneCapacity[],
  claim: string,
  attempt: number,
): Promise<LaneHead[]> {
  if (attempt > 0) {
    // The answer of an earlier attempt may have been lost after its commit: no one else knows about its
    // claims.
    const claimed = await claimedHeads(sql, node, claim);
    if (claimed.length > 0) return claimed;
  }
  await releaseDeadNodes(sql, node);
  const rows = await sql<HeadRow[]>`
    with capacity as (select * from jsonb_to_recordset(${JSON.stringify(capacities)}::jsonb) as c(class text, free int)),
    unsuspected as (
      select found.key from capacity cross join lateral (
        select key from lane
        where lane.class = capacity.class and tail > head and owner is null and suspect_group = 0 and ${isDue(sql)}
        order by wake_at limit greatest(capacity.free, 0) for update skip locked) found),
    ${suspectGroup(sql, node)},
    due as (
      select key, 0 as together from unsuspected
      union all select key, (select count(*) from suspected)::int from suspected),
    claimed as (
      update lane set owner = ${node}, epoch = epoch + 1, claim = ${claim}, delay_ms = null, suspect_group = together, waiting = false,
        wake_at = case when together > 0 then now() else wake_at end
      from due
      where lane.key = due.key and exists (select 1 from node where id = ${node} and lease_until > now())
      returning lane.*)
    ${headsOf(sql, sql`claimed`, claim)}`;
  return settleHeads(sql, rows, node, claim);
}

/**
 * CTE `suspected`: the suspects that the node may run now, fewest crashes first, equal ones in random order. None while
 * it works on others that have not yet run long enough to be harmless (a future time means the clock was set back).
 */
function suspectGroup(sql: Sql, node: string) {
  const aloneMs = sql`least(${SUSPECT_ALONE_MAX_MS}, ${SUSPECT_ALONE_MS} * 2.0 ^ least(crashes - ${SUSPECT_CRASHES}, 30))`;
  return sql`
    suspects as (
      select key, crashes from lane join lane_item on lane_item.lane = key and lane_item.seq = head + 1
      where suspect_group > 0 and tail > head and owner is null and ${isDue(sql)}
        and lane.class in (select class from capacity where free > 0)),
    suspected as (
      select key from lane
      where key in (
          select key from suspects order by crashes, random()
          limit greatest(1, (select count(*) from suspects) / ${SUSPECT_SHARE}))
        and not exists (
          select from lane join lane_item on lane_item.lane = key and lane_item.seq = head + 1
          where owner = ${node} and suspect_group > 0 and not waiting
            and wake_at between now() - ${aloneMs} * interval '1 millisecond' and now())
      for update skip locked)`;
}

/** The `NodeReportStore` over a database. */
export function createNodeReports(database: Database): NodeReportStore {
  return {
    saveNodeSettings: (instance, { version, digests }) =>
      database.write(
        (sql) => sql`
          insert into node_settings (instance, version, digests)
          values (${instance}, ${version}, ${cleanJson(digests)}::jsonb)
          on conflict (instance) do update set version = excluded.version, digests = excluded.digests`,
      ),
    saveNodeStatus: (instance, status) =>
      database.write(
        (sql) => sql`
          insert into node_status (instance, status) values (${instance}, ${cleanJson(status)}::jsonb)
          on conflict (instance) do update set status = excluded.status`,
      ),
    liveNodes: () =>
      database.rows(
        (sql) => sql<LiveNode[]>`
          with live as (
            select instance, max(lease_until) as until from node where lease_until > now() group by instance)
          select instance, round(extract(epoch from until - now()) * 1000)::float8 as "leaseMs", version, status
          from live left join node_settings using (instance) left join node_status using (instance)
          order by instance`,
      ),
  };
}
