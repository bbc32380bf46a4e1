/** Settings of individual chats. */
import type { ChatSettingStore } from '../../../../protocol/channel.ts';
import type { Database } from '../../../database/database.ts';

/** The `ChatSettingStore` over a database. */
export function createChatSettings(database: Database): ChatSettingStore {
  return {
    chatSetting: (chat, name) =>
      database.run(async (sql) => {
        const [row] = await sql<{ value: string }[]>`
          select value from chat_setting
          where chat = ${chat} and name = ${name} and (until is null or until > now())`;
        return row?.value;
      }),
    setChatSetting: (chat, name, value, forMs) =>
      database.run(async (sql) => {
        if (value === undefined) {
          await sql`delete from chat_setting where chat = ${chat} and name = ${name}`;
          return;
        }
        await sql`
          insert into chat_setting (chat, name, value, until)
          values (${chat}, ${name}, ${value}, now() + make_interval(secs => ${forMs === undefined ? null : forMs / 1_000}::float8))
          on conflict (chat, name) do update set value = excluded.value, until = excluded.until`;
        // Temporary settings are stored for many threads: expired ones are deleted with the next one.
        if (forMs !== undefined) await sql`delete from chat_setting where until <= now()`;
      }),
  };
}
