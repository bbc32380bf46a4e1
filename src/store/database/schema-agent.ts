/** The tables of the agent: plans, notes, memories, schedules. */
import { bigint, boolean, index, jsonb, pgTable, primaryKey, sql, text, unique } from './drizzle.ts';
import type { Plan } from '../../contracts/plan.ts';
import type { PlanRequest } from '../../contracts/plan-store.ts';
import { createdAt, moment } from './columns.ts';

/** One row per plan, with the whole plan; the turn that changes it replaces it. `request` holds what users requested of it. */
export const plan = pgTable(
  'plan',
  {
    id: text('id').primaryKey(),
    session: text('session').notNull(),
    turnId: text('turn_id').notNull(),
    doc: jsonb('doc').$type<Plan>().notNull(),
    request: jsonb('request').$type<PlanRequest>(),
    createdAt: createdAt(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    index('plan_session').on(t.session, t.createdAt.desc().nullsFirst()),
    index('plan_turn').on(t.turnId),
  ],
);

/** The todo list of a session, whole. */
export const todo = pgTable('todo', {
  session: text('session').primaryKey(),
  items: jsonb('items').notNull(),
  updatedAt: moment('updated_at').notNull().defaultNow(),
});

/** The scratchpad of a session, one row per note. */
export const scratchpad = pgTable(
  'scratchpad',
  { session: text('session').notNull(), name: text('name').notNull(), content: text('content').notNull() },
  (t) => [primaryKey({ columns: [t.session, t.name] })],
);

/** Facts about a user; `key` is the call that learned one. */
export const memory = pgTable(
  'memory',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    userId: text('user_id').notNull(),
    key: text('key').notNull(),
    content: text('content').notNull(),
    session: text('session').notNull(),
    untrusted: boolean('untrusted').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('memory_key').on(t.userId, t.key),
    index('memory_user').on(t.userId, t.id.desc().nullsFirst()),
    index('memory_words').using('gin', sql`to_tsvector('simple', ${t.content})`),
  ],
);

/** Tasks that start at set times; `next_at` is null when no slot is left. */
export const schedule = pgTable(
  'schedule',
  {
    id: text('id').primaryKey(),
    session: text('session').notNull(),
    address: text('address').notNull(),
    place: text('place', { enum: ['private', 'group'] }).notNull(),
    creatorId: text('creator_id').notNull(),
    timing: jsonb('timing').notNull(),
    task: text('task').notNull(),
    nextAt: moment('next_at'),
    lastAt: moment('last_at'),
    createdAt: createdAt(),
  },
  (t) => [
    index('schedule_due')
      .on(t.nextAt)
      .where(sql`next_at is not null`),
    index('schedule_session').on(t.session, t.createdAt.desc().nullsFirst()),
  ],
);
