/** The messages with buttons that a session leaves on screens when it is deleted: requests, questions and cards of subagents. */
import { agentLane, agentPrefix } from '../../protocol/agent/subagents.ts';
import type { DeliveryPayload, SessionKey } from '../../protocol/message.ts';
import { cleanJson } from '../../lib/json/json.ts';
import type { Sql } from '../database/database.ts';
import { bumpLane, liveNode } from '../lanes/lane-sql.ts';

/** A delivered message that waits for a person, or shows work. */
interface OpenCard {
  lane: string;
  payload: DeliveryPayload;
}

/**
 * Queues the end of each such message that has none yet, in the transaction that deletes the session and its rows: nobody else
 * knows of it afterwards. Usually the stop before a deletion has ended them; not if no gateway ran, or a node was slow.
 */
export async function closeCards(sql: Sql, session: SessionKey): Promise<void> {
  for (const { lane, payload } of await openCards(sql, session)) {
    const { ref, message } = payload;
    const end: DeliveryPayload = {
      ref,
      key: `${ref}:deleted`,
      message: { ...message, content: '', media: [], buttons: [] },
      says: 'turn.deleted',
    };
    await sql`
      with ${liveNode(sql, undefined)},
      bumped as (${bumpLane(sql, sql`(select ${lane} as key) source`, ref)})
      insert into lane_item (lane, seq, dedupe, payload)
      select key, tail, ${end.key ?? ref}, ${cleanJson(end)}::jsonb from bumped`;
  }
}

async function openCards(sql: Sql, session: SessionKey): Promise<OpenCard[]> {
  return await sql<OpenCard[]>`
    with requests as (
      select 'approval:' || a.id as ref, coalesce(a.detail #>> '{question,address}', a.detail ->> 'address') as address,
        coalesce(a.detail -> 'alsoAsked', '[]') || (
          select coalesce(jsonb_agg(address), '[]') from surface where surface.session = ${session}) as others
      from turn join approval a on a.turn_id = turn.id
      where turn.session = ${session} and (a.state = 'pending' or a.decided_at > now() - interval '1 day')),
    refs as (
      select ref, address from requests
      union select ref || '@' || other, other from requests, jsonb_array_elements_text(others) other
      union select 'card:' || (item.payload ->> 'agentId'), item.payload ->> 'address'
        from lane join lane_item item on item.lane = lane.key and item.seq = lane.head + 1
        where class = 'agent' and tail > head and starts_with(key, ${agentLane(agentPrefix(session))}))
    select card.lane, card.payload from refs join lane_item card on card.lane = 'out:' || address and card.dedupe = ref
    where not exists (
      select from lane_item later where later.lane = card.lane and starts_with(later.dedupe, ref || ':'))`;
}
