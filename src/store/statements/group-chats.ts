/** Groups: what was said there without naming the bot, limited per session, and the turns that bots have caused. */
import {
  type BotTalk,
  type BotVerdict,
  type GroupChat,
  type GroupChatStore,
  type IdentifiedMessage,
  judgeBot,
  MAX_OBSERVED,
} from '../../protocol/store/group-chats.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { cleanText } from '../../lib/text.ts';
import type { Database, Sql } from '../database/database.ts';
import { addressOf, type ChatMigration, type ChatMigrationStore } from '../../protocol/message.ts';

/** The `GroupChatStore` over a database. */
export function createGroupChats(database: Database): GroupChatStore {
  return {
    observes: (chat) =>
      database.run(async (sql) => {
        const { channel, chatId } = cleanChat(chat);
        const [row] = await sql<{ observe: boolean | null }[]>`
          select observe from group_chat where channel = ${channel} and chat_id = ${chatId}`;
        return row?.observe ?? undefined;
      }),
    setObserving: (chat, on) => database.transaction((sql) => setObserving(sql, cleanChat(chat), on)),
    keepObserved: (chat, address, messages) =>
      database.run((sql) => {
        const all = messages.map(({ id, ...message }) => ({ id: messageKey(chat, id), ...message }));
        return keep(sql, cleanChat(chat), cleanText(address), all);
      }),
    editObserved: (chat, { id, senderId, content }) =>
      database.run(async (sql) => {
        const { channel, chatId } = cleanChat(chat);
        await sql`
          update observed set content = ${cleanText(content)}
          where channel = ${channel} and chat_id = ${chatId} and message_id = ${messageKey(chat, id)}
            and sender_id = ${cleanText(senderId)}`;
      }),
    removeObserved: (chat, ids) =>
      database.run(async (sql) => {
        if (ids.length === 0) return;
        const { channel, chatId } = cleanChat(chat);
        const keys = ids.map((id) => messageKey(chat, id));
        await sql`
          delete from observed
          where channel = ${channel} and chat_id = ${chatId} and message_id in ${sql(keys)}`;
      }),
    admitBot: (chat, id) => database.transaction((sql) => admitBot(sql, cleanChat(chat), cleanText(id))),
  };
}

function cleanChat({ channel, chatId }: GroupChat): GroupChat {
  return { channel: cleanText(channel), chatId: cleanText(chatId) };
}

/** Chats of one session may number their messages alike. */
function messageKey({ channel, chatId }: GroupChat, id: string): string {
  return cleanText(`${channel}:${chatId}:${id}`);
}

async function setObserving(sql: Sql, { channel, chatId }: GroupChat, on: boolean): Promise<void> {
  await sql`
    insert into group_chat (channel, chat_id, observe) values (${channel}, ${chatId}, ${on})
    on conflict (channel, chat_id) do update set observe = ${on}`;
  if (!on) await sql`delete from observed where channel = ${channel} and chat_id = ${chatId}`;
}

/** The place of the rows between the turns is the lane's tail: the next accepted message gets the seq after it. */
async function keep(
  sql: Sql,
  { channel, chatId }: GroupChat,
  address: string,
  messages: readonly IdentifiedMessage[],
): Promise<void> {
  await sql`
    with target as (select coalesce((select session from address where key = ${address}), ${address}) as session),
    kept as (
      insert into observed (session, message_id, channel, chat_id, after_seq, sender_id, sender_name, content)
      select session, one ->> 'id', ${channel}, ${chatId},
        coalesce((select tail from lane where key = 'in:' || session), 0), one ->> 'senderId', one ->> 'senderName', one ->> 'content'
      from target, jsonb_array_elements(${cleanJson(messages)}::jsonb) with ordinality as said(one, n)
      order by n on conflict (session, message_id) do nothing returning id)
    delete from observed where session = (select session from target) and exists (select from kept)
      and id <= (
        select id from observed where session = (select session from target)
        order by id desc
        offset greatest(${MAX_OBSERVED} - (select count(*) from kept), 0) limit 1)`;
}

/** One at a time per chat: the row is locked while the verdict is determined. */
async function admitBot(sql: Sql, { channel, chatId }: GroupChat, id: string): Promise<BotVerdict> {
  await sql`insert into group_chat (channel, chat_id) values (${channel}, ${chatId}) on conflict do nothing`;
  const [row] = await sql<{ bots: BotTalk; now: number }[]>`
    select bots, extract(epoch from clock_timestamp())::float8 * 1000 as now from group_chat
    where channel = ${channel} and chat_id = ${chatId} for update`;
  const { talk, verdict } = judgeBot(row?.bots ?? { turns: [] }, id, row?.now ?? 0);
  await sql`
    update group_chat set bots = ${cleanJson(talk)}::jsonb where channel = ${channel} and chat_id = ${chatId}`;
  return verdict;
}

/** The `ChatMigrationStore` over a database. */
export function createChatMigrationStore(database: Database): ChatMigrationStore {
  return { moveChat: (move, listed) => database.transaction((sql) => moveChat(sql, move, listed)) };
}

async function moveChat(sql: Sql, move: ChatMigration, listed: boolean): Promise<boolean> {
  const [channel, from, to] = [cleanText(move.channel), cleanText(move.from), cleanText(move.to)];
  const [old, fresh] = [addressOf({ channel, chatId: from }), addressOf({ channel, chatId: to })];
  const granted = await sql`
    insert into "grant" (channel, kind, id) select ${channel}, 'group', ${to}
    where ${listed} or exists (select from "grant" where channel = ${channel} and kind = 'group' and id = ${from})
    on conflict do nothing returning id`;
  const addressed = await sql`
    insert into address (key, session) select ${fresh}, key from session
    where key = coalesce((select session from address where key = ${old}), ${old})
      and not exists (select from session where key = ${fresh})
    on conflict do nothing returning key`;
  const scheduled = await sql`update schedule set address = ${fresh} where address = ${old} returning id`;
  // The chat keeps its place among those that share its session.
  await sql`
    update surface set address = ${fresh} where address = ${old}
      and not exists (select from surface where address = ${fresh})`;
  await sql`
    update group_chat set chat_id = ${to} where channel = ${channel} and chat_id = ${from}
      and not exists (select from group_chat where channel = ${channel} and chat_id = ${to})`;
  await sql`
    update chat_setting c set chat = ${fresh} where chat = ${old}
      and not exists (select from chat_setting k where k.chat = ${fresh} and k.name = c.name)`;
  // The sources last: where the new chat has some, both keep what they have.
  for (const table of ['knowledge_passage', 'knowledge_document', 'knowledge_source'])
    await sql`
      update ${sql(table)} set scope = ${`chat/${fresh}`} where scope = ${`chat/${old}`}
        and not exists (select from knowledge_source where scope = ${`chat/${fresh}`})`;
  await sql`update observed set chat_id = ${to} where channel = ${channel} and chat_id = ${from}`;
  return granted.length + addressed.length + scheduled.length > 0;
}
