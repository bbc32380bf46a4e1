/** The tables that explain why a message got no answer. */
import { index, integer, jsonb, pgTable, primaryKey, text } from './drizzle.ts';
import type { TraceAttempt } from '../../protocol/store/traces.ts';
import { moment } from './columns.ts';

/** What a turn did and when, one element per attempt. */
export const turnTrace = pgTable(
  'turn_trace',
  {
    turnId: text('turn_id').primaryKey(),
    attempts: jsonb('attempts').$type<TraceAttempt[]>().notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [index('turn_trace_at').on(t.at)],
);

/** Counts of messages that did not become turns. */
export const refusal = pgTable(
  'refusal',
  {
    address: text('address').notNull(),
    senderId: text('sender_id').notNull(),
    code: text('code').notNull(),
    detail: text('detail').notNull(),
    count: integer('count').notNull(),
    lastAt: moment('last_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.address, t.senderId, t.code] }), index('refusal_at').on(t.lastAt)],
);
