/** Tables of what channels store about their platforms. */
import { bigint, index, pgTable, primaryKey, sql, text } from './drizzle.ts';
import { moment } from './columns.ts';

/** Updates that a platform posted to a webhook. */
export const platformUpdate = pgTable(
  'platform_update',
  {
    /** `telegram:<id of the bot>`. */
    bot: text('bot').notNull(),
    id: bigint('id', { mode: 'number' }).notNull(),
    /** JSON as it was posted, which may contain what `jsonb` refuses; null once it was received. */
    body: text('body'),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.bot, t.id] }),
    index('platform_update_waiting')
      .on(t.bot, t.id)
      .where(sql`body is not null`),
    index('platform_update_received')
      .on(t.bot, t.at)
      .where(sql`body is null`),
  ],
);

/** Settings of individual chats, such as how their answers are streamed. */
export const chatSetting = pgTable(
  'chat_setting',
  {
    /** Address of the chat, usually without a topic. */
    chat: text('chat').notNull(),
    name: text('name').notNull(),
    value: text('value').notNull(),
    /** No longer valid after this time. */
    until: moment('until'),
  },
  (t) => [primaryKey({ columns: [t.chat, t.name] })],
);
