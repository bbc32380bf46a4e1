/** Moves everything that belongs to a chat to its new id, in one transaction. */
import { cleanText } from '../../../lib/text.ts';
import { addressOf, type ChatMigration, type ChatMigrationStore } from '../../../protocol/message.ts';
import type { Database, Sql } from '../../database/database.ts';

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
  await sql`update observed set chat_id = ${to} where channel = ${channel} and chat_id = ${from}`;
  return granted.length + addressed.length + scheduled.length > 0;
}
