/** The other chats of a turn's session, in the statements that open and end the turn. */
import type postgres from 'postgres';
import type { TurnFinish } from '../../../../protocol/store/records.ts';
import { cleanJson } from '../../../../lib/json/json.ts';
import type { Sql } from '../../../database/database.ts';

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Expression: the chats that share the session with the one in which the turn was asked, as `OtherSurface`. */
export function otherSurfaces(
  sql: Sql,
  { session, address, turnId }: { session: Fragment; address: Fragment; turnId: Fragment },
): Fragment {
  return sql`
    (select coalesce(jsonb_agg(jsonb_build_object('address', s.address, 'place', s.place, 'name', s.name,
        'userId', s.user_id, 'placeholders', coalesce((select parts from delivery where ref = ${turnId} || '@' || s.address), '[]'))
        order by s.linked_at, s.address), '[]')
      from surface s where s.session = ${session} and s.address <> ${address})`;
}

/** Expression: the id in a part of an address, as `parseAddress` reads it. */
function idIn(sql: Sql, part: Fragment): Fragment {
  return sql`replace(replace(${part}, '=3A', ':'), '=3D', '=')`;
}

/**
 * CTE `others`: the chats other than the turn's own that get its end, each with its payload. Over HTTP the stored
 * message is the delivery.
 */
export function deliveredElsewhere(
  sql: Sql,
  turnId: string,
  { message, groups, shownOn }: NonNullable<TurnFinish['elsewhere']>,
) {
  const chatPart = sql`split_part(address, ':', 2)`;
  const chat = idIn(sql, chatPart);
  const thread = idIn(
    sql,
    sql`substr(address, length(split_part(address, ':', 1)) + length(${chatPart}) + 3)`,
  );
  const known =
    groups === undefined
      ? sql``
      : sql`and (s.place = 'private' or s.address in (select jsonb_array_elements_text(${cleanJson(groups)}::jsonb)))`;
  return sql`,
    others as (
      select address, jsonb_build_object('ref', ${turnId} || '@' || address, 'message', body
        || jsonb_build_object('channel', split_part(address, ':', 1), 'chatId', ${chat})
        || case when ${thread} = '' then '{}' else jsonb_build_object('threadId', ${thread}) end) as payload
      from (
        select s.address, ${cleanJson(message)}::jsonb as body from closed join surface s on s.session = closed.session
        where s.address <> closed.address
          ${known}
        union all
        select shown.address, jsonb_build_object('content', shown.separated, 'media', '[]'::jsonb, 'buttons', '[]'::jsonb)
        from closed, jsonb_to_recordset(${cleanJson(shownOn)}::jsonb) as shown(address text, separated text)
        where exists (select from delivery where ref = ${turnId} || '@' || shown.address)
          and not exists (select from surface s where s.session = closed.session and s.address = shown.address)) ending
      where split_part(address, ':', 1) <> 'http')`;
}
