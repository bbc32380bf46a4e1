/** The tables of the agent: plans, notes, memories, schedules, files. */
import {
  bigint,
  boolean,
  bytea,
  createdAt,
  index,
  integer,
  jsonb,
  moment,
  pgTable,
  primaryKey,
  sql,
  text,
  unique,
} from './drizzle.ts';
import type { Plan } from '../../protocol/agent/plan.ts';
import type { PlanRequest } from '../../protocol/agent/plan-store.ts';
import type { EvalCheck, EvalItem, TurnRecord } from '../../protocol/agent/replays.ts';
import type { Source } from '../../protocol/agent/risk.ts';

/** One row per plan with the whole plan, replaced by the turn that changes it. `request` is what users asked of it. */
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

/** The whole todo list of a session. */
export const todo = pgTable('todo', {
  session: text('session').primaryKey(),
  items: jsonb('items').notNull(),
  updatedAt: moment('updated_at').notNull().defaultNow(),
});

/** The scratchpad of a session, one row per note. */
export const scratchpad = pgTable(
  'scratchpad',
  {
    session: text('session').notNull(),
    name: text('name').notNull(),
    content: text('content').notNull(),
    sources: jsonb('sources').$type<Source[]>().notNull().default([]),
  },
  (t) => [primaryKey({ columns: [t.session, t.name] })],
);

/** Facts about a user; `key` is the call that learned the fact. */
export const memory = pgTable(
  'memory',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    userId: text('user_id').notNull(),
    key: text('key').notNull(),
    content: text('content').notNull(),
    session: text('session').notNull(),
    untrusted: boolean('untrusted').notNull(),
    /** Its embedding, one byte per dimension; empty = the model could not read it. */
    vector: bytea('vector'),
    vectorModel: text('vector_model'),
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
    sources: jsonb('sources').$type<Source[]>().notNull().default([]),
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

/**
 * The outcome of a schedule's slots. `due_at` is the slot, `at` the time when it was handled; one row counts all
 * missed slots. How a turn ended is in the turn's own row.
 */
export const scheduleRun = pgTable(
  'schedule_run',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    scheduleId: text('schedule_id').notNull(),
    session: text('session').notNull(),
    dueAt: moment('due_at').notNull(),
    at: moment('at').notNull().defaultNow(),
    outcome: text('outcome', { enum: ['begun', 'skipped', 'missed', 'switched_off'] }).notNull(),
    why: text('why'),
    turnId: text('turn_id'),
  },
  (t) => [
    index('schedule_run_newest').on(t.scheduleId, t.id.desc().nullsFirst()),
    index('schedule_run_session').on(t.session),
    index('schedule_run_age').on(t.at),
  ],
);

/** How often the files in a session's folder have changed, by folder name. */
export const sessionFolder = pgTable('session_folder', {
  folder: text('folder').primaryKey(),
  version: integer('version').notNull(),
});

/** The files in a session's folder, on Postgres only: every node of the database has its own copies. */
export const sessionFile = pgTable(
  'session_file',
  {
    folder: text('folder').notNull(),
    path: text('path').notNull(),
    sha256: text('sha256').notNull(),
    bytes: bytea('bytes').notNull(),
  },
  (t) => [primaryKey({ columns: [t.folder, t.path] })],
);

/** Files that came with messages and are in session folders: who owns them, how large they are, and since when. */
export const keptFile = pgTable(
  'kept_file',
  {
    folder: text('folder').notNull(),
    path: text('path').notNull(),
    userId: text('user_id').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    keptAt: moment('kept_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.folder, t.path] }),
    index('kept_file_user').on(t.userId, t.keptAt),
    index('kept_file_age').on(t.keptAt, t.folder, t.path),
  ],
);

/** Folders of deleted sessions: each node removes its own copy, even after a crash or a pause. */
export const removedFolder = pgTable(
  'removed_folder',
  { folder: text('folder').primaryKey(), removedAt: moment('removed_at').notNull().defaultNow() },
  (t) => [index('removed_folder_age').on(t.removedAt)],
);

/** Turns that people have marked for evaluations, with a copy of all that a replay needs: it outlives traces and old messages. */
export const evalCase = pgTable(
  'eval_case',
  {
    /** The set that it belongs to. */
    name: text('name').notNull(),
    turnId: text('turn_id').notNull(),
    session: text('session').notNull(),
    record: jsonb('record').$type<TurnRecord>().notNull(),
    checks: jsonb('checks').$type<EvalCheck[]>().notNull().default([]),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.name, t.turnId] }), index('eval_case_session').on(t.session)],
);

/** What an evaluation has done so far, until it is complete: after an interruption it goes on from there. */
export const evalResult = pgTable(
  'eval_result',
  {
    /** A digest of the set, the models, the profile and the checks. */
    run: text('run').notNull(),
    turnId: text('turn_id').notNull(),
    model: text('model').notNull(),
    result: jsonb('result').$type<EvalItem>().notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.run, t.turnId, t.model] }),
    index('eval_result_turn').on(t.turnId),
    index('eval_result_at').on(t.at),
  ],
);

/**
 * What turns have changed, one row per thing, for an undo: `before` the first and `after` the last call of the turn that changed it,
 * unless someone else did in between. `kind` `call` is a call that runs, `use` a
 * file that a message brought again. `seq` orders the last changes.
 */
export const turnEffect = pgTable(
  'turn_effect',
  {
    seq: bigint('seq', { mode: 'number' }).notNull().generatedByDefaultAsIdentity(),
    session: text('session').notNull(),
    turnId: text('turn_id').notNull(),
    kind: text('kind').notNull(),
    target: text('target').notNull(),
    before: jsonb('before'),
    after: jsonb('after'),
    state: text('state', { enum: ['done', 'undoing', 'undone', 'stays'] })
      .notNull()
      .default('done'),
    /** Why it stays. */
    reason: text('reason'),
  },
  (t) => [
    primaryKey({ columns: [t.turnId, t.kind, t.target] }),
    index('turn_effect_target').on(t.session, t.kind, t.target),
  ],
);

/** Earlier contents of files, each once, until they are given up. */
export const earlierContent = pgTable(
  'earlier_content',
  {
    sha256: text('sha256').primaryKey(),
    size: integer('size').notNull(),
    bytes: bytea('bytes').notNull(),
    usedAt: moment('used_at').notNull().defaultNow(),
  },
  (t) => [index('earlier_content_age').on(t.usedAt)],
);
