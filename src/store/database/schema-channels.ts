/** Tables of what channels keep of their platforms. */
import { bigint, index, pgTable, primaryKey, sql, text } from './drizzle.ts';
import { moment } from './columns.ts';

/** Updates that a platform posted to a webhook. */
export const platformUpdate = pgTable(
  'platform_update',
  {
    /** `telegram:<id of the bot>`. */
    bot: text('bot').notNull(),
    id: bigint('id', { mode: 'number' }).notNull(),
    /** JSON as it was posted, which may hold what `jsonb` refuses; null once it was received. */
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

/** What is kept of single chats, such as how their answers are streamed. */
export const chatSetting = pgTable(
  'chat_setting',
  {
    /** Address of the chat, mostly without a topic. */
    chat: text('chat').notNull(),
    name: text('name').notNull(),
    value: text('value').notNull(),
    /** It no longer counts from then on. */
    until: moment('until'),
  },
  (t) => [primaryKey({ columns: [t.chat, t.name] })],
);
