/** What the tables contain about one person: found by their user id, never by a name. */
import {
  type Person,
  type PersonData,
  type PersonRow,
  type PersonStore,
  REMOVED_TEXT,
} from '../../protocol/operator/people.ts';
import { addressOf, memoryOwnerOf, userIdOf } from '../../protocol/message.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Fragment, Sql } from '../database/database.ts';
import { leave } from './surfaces.ts';
import { removeSources } from './knowledge.ts';
import { forgetSums } from './usage.ts';

/** A file that exceeds its time by this much is due for the sweep but not yet forgotten, in days. */
const OVERDUE_DAYS = 0.01;

/** The `PersonStore` over a database. */
export function createPeople(database: Database): PersonStore {
  return {
    person: (person) => database.run((sql) => find(sql, person)),
    personRows: (person, kind, { after, limit }) =>
      database.run(async (sql) => {
        const rows = await sql<{ row: object }[]>`
          select to_jsonb(found) as row from (${rowsOf(sql, person, kind)} offset ${after} limit ${limit}) found`;
        return rows.map(({ row }) => ({ kind, ...row }) as PersonRow);
      }),
    forgetPerson: (person, more) => database.transaction((sql) => forget(sql, person, more)),
  };
}

/** The owner of the memories. */
function userOf({ channel, id, endUser }: Person): string {
  return cleanText(memoryOwnerOf({ channel, senderId: id, endUser }));
}

/** The token of a person over HTTP, who owns the sessions that it started; null for an end user, who owns none. */
function tokenOf({ channel, id, endUser }: Person): string | null {
  return channel === 'http' && endUser === undefined ? cleanText(id.replace(/^token:/, '')) : null;
}

/** Memories of the person, and of all end users of a token. */
function remembered(sql: Sql, person: Person): Fragment {
  const user = userOf(person);
  return tokenOf(person) === null
    ? sql`user_id = ${user}`
    : sql`(user_id = ${user} or starts_with(user_id, ${`${user}:user:`}))`;
}

/** Responses to the person, and to all end users of a token. */
function answered(sql: Sql, { channel, id, endUser }: Person): Fragment {
  if (channel !== 'http') return sql`false`;
  const ofToken = sql`token_id = ${cleanText(id.replace(/^token:/, ''))}`;
  return endUser === undefined ? ofToken : sql`${ofToken} and end_user = ${cleanText(endUser)}`;
}

/**
 * CTEs: `turns` that the person wrote or was answered in, and `own` sessions, in which no one else was. A session with
 * messages from a group belongs to no one.
 */
function found(sql: Sql, person: Person): Fragment {
  const user = userOf(person);
  const payer = cleanText(userIdOf({ channel: person.channel, senderId: person.id }));
  const token = tokenOf(person);
  const { channel, privateChat, endUser } = person;
  const isTheirs =
    endUser === undefined ? sql`payload ->> 'author' = ${user}` : sql`payload ->> 'owner' = ${user}`;
  const chat = privateChat === undefined ? null : addressOf({ channel, chatId: privateChat });
  return sql`
    said as (
      select session, turn_id, payload ->> 'author' as author, coalesce(${isTheirs}, false) as theirs,
        coalesce(payload -> 'sources' ? 'group', false) as grouped
      from context where kind = 'user'),
    turns as (
      select turn_id as id, session from said where theirs
      union select turn_id, session from usage where user_id = ${user} and turn_id is not null and session is not null),
    own as (
      select s.key from session s
      where (exists (select from turns where turns.session = s.key) or s.key = ${chat} or s.owner_token_id = ${token} or exists (
          select from address a where a.session = s.key and a.key = ${chat}))
        and not exists (select from said where said.session = s.key and (grouped
          or (not theirs and author is not null and author not like 'system:%')))
        and not exists (select from usage u where u.session = s.key and u.user_id <> ${payer} and u.user_id <> 'system')),
    shared as (
      select distinct turns.session as key from turns join session on session.key = turns.session
      where turns.session not in (select key from own)),
    written as (
      select m.session, m.seq, m.turn_id, m.content, m.created_at from message m join turns on turns.id = m.turn_id
      where m.role = 'user' and m.session in (select key from shared))`;
}

/** The knowledge of their own sessions, by the CTE `own`, and of their private chat. */
function theirChats(sql: Sql, { channel, privateChat }: Person): Fragment {
  const chat = privateChat === undefined ? null : addressOf({ channel, chatId: privateChat });
  return sql`select 'chat/' || key from own union select 'chat/' || ${chat}::text`;
}

async function find(sql: Sql, person: Person): Promise<PersonData> {
  const { channel, id } = person;
  const user = userOf(person);
  const [row] = await sql<PersonData[]>`
    with ${found(sql, person)}
    select coalesce((select jsonb_agg(key order by key) from own), '[]') as sessions,
      coalesce((select jsonb_agg(key order by key) from shared), '[]') as shared,
      (select count(*)::int from written where content <> ${REMOVED_TEXT}) as "sharedMessages",
      (select count(*)::int from memory where ${remembered(sql, person)}) as memories,
      (select count(*)::int from schedule where creator_id = ${user}) as schedules,
      (select count(*)::int from "grant" where channel = ${channel} and kind in ('dm', 'owner') and id = ${id})
        + (select count(*)::int from pairing where channel = ${channel} and sender_id = ${id}) as grants,
      (select count(*)::int from kept_file where user_id = ${user}) as files,
      (select count(*)::int from stored_response where ${answered(sql, person)}) as responses,
      (select count(*)::int from knowledge_document where scope in (${theirChats(sql, person)})) as documents,
      (select count(*)::int from usage where user_id = ${user}) as usage`;
  if (row === undefined) throw new Error('A statement without from returned no row.');
  return { ...row };
}

/** The rows of a kind in a stable order. Messages are those of shared sessions: own sessions are exported whole. */
function rowsOf(sql: Sql, person: Person, kind: PersonRow['kind']): Fragment {
  const user = userOf(person);
  switch (kind) {
    case 'message':
      return sql`with ${found(sql, person)}
        select session, seq, content, created_at as "createdAt" from written order by session, seq`;
    case 'memory':
      return sql`select session, content, created_at as "createdAt" from memory where ${remembered(sql, person)} order by id`;
    case 'schedule':
      return sql`select id, session, task, timing from schedule where creator_id = ${user} order by id`;
    case 'grant':
      return sql`select kind as right, granted_at as "grantedAt" from "grant"
        where channel = ${person.channel} and kind in ('dm', 'owner') and id = ${person.id} order by kind`;
    case 'file':
      return sql`select folder, path, bytes, kept_at as "keptAt" from kept_file where user_id = ${user} order by folder, path`;
    case 'response':
      return sql`select id, input, body -> 'output' as output, used_at as "usedAt"
        from stored_response where ${answered(sql, person)} order by used_at, id`;
    case 'knowledge':
      return sql`with ${found(sql, person)}
        select substr(d.scope, 6) as chat, d.name as document, p.position, p.content
        from knowledge_passage p join knowledge_document d on d.id = p.document_id
        where d.scope in (${theirChats(sql, person)}) order by d.scope, d.name, p.position`;
    case 'usage':
      return sql`select model, prompt_tokens as "promptTokens", completion_tokens as "completionTokens", at
        from usage where user_id = ${user} order by id`;
    default:
      return kind satisfies never;
  }
}

async function forget(
  sql: Sql,
  person: Person,
  { sessions, fileDays }: { sessions: readonly string[]; fileDays: number },
): Promise<void> {
  const { channel, id, privateChat } = person;
  const user = userOf(person);
  await forgetTexts(sql, person);
  await leaveSurfaces(sql, person);
  await sql`delete from memory where ${remembered(sql, person)}`;
  await sql`
    with gone as (delete from schedule where creator_id = ${user} returning id)
    delete from schedule_run where schedule_id in (select id from gone)`;
  await sql`delete from "grant" where channel = ${channel} and kind in ('dm', 'owner') and id = ${id}`;
  await sql`delete from pairing where channel = ${channel} and sender_id = ${id}`;
  await sql`delete from refusal where sender_id = ${id} and starts_with(address, ${`${channel}:`})`;
  await sql`update approval set decided_by = 'deleted', decided_name = null where decided_by = ${user}`;
  // Each node removes its own copies in the sweep of outdated files.
  await sql`
    update kept_file set user_id = '', kept_at = now() - ${fileDays + OVERDUE_DAYS}::float8 * interval '1 day'
    where user_id = ${user}`;
  await sql`delete from approval_rule where created_by = ${user}`;
  await sql`delete from sign_in where token_id = ${tokenOf(person)}`;
  await sql`delete from push_subscription where token_id = ${tokenOf(person)}`;
  await sql`delete from stored_response where ${answered(sql, person)}`;
  const chats = privateChat === undefined ? [] : [addressOf({ channel, chatId: privateChat })];
  for (const chat of [user, ...sessions, ...chats]) await sql`delete from chat_setting where chat = ${chat}`;
  for (const chat of [...sessions, ...chats]) await removeSources(sql, sql`scope = ${`chat/${chat}`}`);
  await sql`
    delete from chat_setting
    where name = 'contact' and case when name = 'contact' then value::jsonb ->> 'userId' end = ${user}`;
  for (const key of sessions) {
    await sql`update usage set session = null, turn_id = null where session = ${key}`;
    await sql`
      delete from lane_item where done_at is not null
        and lane in (select 'out:' || ${key}::text union select 'out:' || key from address where session = ${key})`;
  }
  await sql`update usage set user_id = null where user_id = ${user}`;
  for (const table of ['budget', 'budget_hold']) {
    await sql`
      delete from ${sql(table)} where starts_with(key, 'person/') and right(key, ${user.length + 1}) = ${`/${user}`}`;
  }
  await forgetSums(sql, user);
}

/** Replaces what the person wrote in sessions with others: on screen, for the model, and in the queue's finished items. */
async function forgetTexts(sql: Sql, person: Person): Promise<void> {
  const user = userOf(person);
  // What the model was sent together with others' messages contains theirs, too.
  await sql`
    with ${found(sql, person)}
    delete from turn_trace using turn where turn.id = turn_trace.turn_id and turn.session in (select key from shared)`;
  await sql`
    with ${found(sql, person)},
    results as (delete from eval_result using turn where turn.id = turn_id and turn.session in (select key from shared))
    delete from eval_case where session in (select key from shared)`;
  await sql`
    with ${found(sql, person)}
    update message m set content = ${REMOVED_TEXT}, sender_name = null, attachments = null
    from written where m.session = written.session and m.seq = written.seq`;
  await sql`
    with ${found(sql, person)}
    update context c set payload = (c.payload - 'typed' - 'pictures' - 'author' - 'owner') || ${cleanJson({ content: REMOVED_TEXT })}::jsonb
    where c.kind = 'user' and c.session in (select key from shared)
      and (c.payload ->> ${person.endUser === undefined ? 'author' : 'owner'} = ${user}
        or (c.payload ->> 'author' is null and c.turn_id in (select turn_id from usage where user_id = ${user})))`;
  await sql`
    update lane_item set payload = jsonb_set(payload #- '{message,senderName}' #- '{message,endUser}', '{message,content}', ${cleanJson(REMOVED_TEXT)}::jsonb)
    where starts_with(lane, 'in:') and done_at is not null
      and payload -> 'message' ->> 'channel' = ${person.channel} and payload -> 'message' ->> 'senderId' = ${person.id}
      and ${person.endUser === undefined ? sql`true` : sql`payload -> 'message' ->> 'endUser' = ${person.endUser}`}`;
}

/** Their chats no longer share a conversation; no one else's chat keeps what they asked as a separate line. */
async function leaveSurfaces(sql: Sql, person: Person): Promise<void> {
  const user = userOf(person);
  const surfaces = await sql<{ address: string }[]>`select address from surface where user_id = ${user}`;
  for (const { address } of surfaces) await leave(sql, address);
  await sql`delete from link where user_id = ${user} or to_user_id = ${user}`;
  await sql`delete from link_try where user_id = ${user}`;
  await sql`
    with ${found(sql, person)}
    delete from lane_item using turns
    where starts_with(lane, 'out:') and done_at is not null and dedupe = turns.id || ':asked@' || substr(lane, 5)`;
}
