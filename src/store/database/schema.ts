/** All tables; `npm run migrations` turns changes into files under `drizzle/`. Here: lanes, sessions, turns, deliveries. */
import {
  bigint,
  boolean,
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
import type { Attachment } from '../../protocol/media.ts';
import type { Source } from '../../protocol/agent/risk.ts';
import type { TurnFailure } from '../../protocol/store/records.ts';

export * from './schema-access.ts';
export * from './schema-agent.ts';
export * from './schema-knowledge.ts';
export * from './schema-nodes.ts';

/** One row per process start; a process whose lease has expired counts as dead. */
export const node = pgTable('node', {
  id: text('id').primaryKey(),
  instance: text('instance').notNull(),
  leaseUntil: moment('lease_until').notNull(),
});

/**
 * A channel's connection by channel and bot: the session to resume, stored up to `sequence`, and the number of
 * sessions started, which platforms limit per day.
 */
export const connection = pgTable('connection', {
  key: text('key').primaryKey(),
  session: text('session'),
  sequence: bigint('sequence', { mode: 'number' }).notNull().default(0),
  detail: jsonb('detail').$type<Record<string, unknown>>().notNull().default({}),
  heardAt: moment('heard_at'),
  day: text('day'),
  begunOnDay: integer('begun_on_day').notNull().default(0),
  begunAt: moment('begun_at'),
  shortSessions: integer('short_sessions').notNull().default(0),
});

/**
 * `head` is the last finished seq, `tail` the last accepted one. `owner` is the node that works on head + 1; `epoch`
 * rises with each claim, and `claim` names the call that made it, so that a call whose answer was lost can find its claims.
 * A lane without `delay_ms` is due regardless of the clock, and `wake_at` only orders the waiting lanes; with it, the lane is due
 * at `wake_at`, which was that far ahead when it was written: any later time means that the clock was set back.
 * Messages up to `joined_seq` joined the turn of the head; the turn at `interrupt_seq` has to end for the next one;
 * the one at `caller_seq` is waiting for tools that its caller runs.
 * `suspect_group` is 0 unless the head was running at two or more deaths of its node: such heads are claimed in small groups,
 * and this is the size of its last group. While the lane has an owner, `waiting` means that its head is only waiting for
 * something outside; each claim clears it.
 */
export const lane = pgTable(
  'lane',
  {
    key: text('key').primaryKey(),
    class: text('class')
      .notNull()
      .generatedAlwaysAs(sql`split_part(key, ':', 1)`),
    head: integer('head').notNull().default(0),
    tail: integer('tail').notNull().default(0),
    owner: text('owner'),
    epoch: integer('epoch').notNull().default(0),
    claim: text('claim'),
    wakeAt: moment('wake_at').notNull().defaultNow(),
    delayMs: bigint('delay_ms', { mode: 'number' }),
    stopSeq: integer('stop_seq').notNull().default(0),
    joinedSeq: integer('joined_seq').notNull().default(0),
    interruptSeq: integer('interrupt_seq').notNull().default(0),
    callerSeq: integer('caller_seq').notNull().default(0),
    suspectGroup: integer('suspect_group').notNull().default(0),
    waiting: boolean('waiting').notNull().default(false),
    /** Dead letters of an `out` lane that were not yet reported to its chat. */
    unreported: integer('unreported').notNull().default(0),
  },
  (t) => [
    index('lane_due')
      .on(t.class, t.wakeAt)
      .where(sql`tail > head and owner is null`),
    index('lane_owner')
      .on(t.owner)
      .where(sql`owner is not null`),
    index('lane_suspect')
      .on(t.key)
      .where(sql`suspect_group > 0`),
    index('lane_pending')
      .on(t.class)
      .where(sql`tail > head`),
  ],
);

/**
 * A message in a lane. `crashes` counts deaths of its node, `lone_crashes` those at which it was the only suspect, since
 * its last finished tool call. `done_epoch` is the fence of its end: it identifies a finish whose answer was lost.
 */
export const laneItem = pgTable(
  'lane_item',
  {
    lane: text('lane').notNull(),
    seq: integer('seq').notNull(),
    dedupe: text('dedupe').notNull(),
    payload: jsonb('payload').notNull(),
    attempts: integer('attempts').notNull().default(0),
    crashes: integer('crashes').notNull().default(0),
    loneCrashes: integer('lone_crashes').notNull().default(0),
    /** Sum of the pauses after failures; unlike a point in time it does not depend on the clock. */
    waitedMs: bigint('waited_ms', { mode: 'number' }).notNull().default(0),
    error: text('error'),
    dead: boolean('dead').notNull().default(false),
    doneAt: moment('done_at'),
    doneEpoch: integer('done_epoch'),
  },
  (t) => [
    primaryKey({ columns: [t.lane, t.seq] }),
    unique('lane_item_dedupe').on(t.lane, t.dedupe),
    index('lane_item_done')
      .on(t.doneAt)
      .where(sql`done_at is not null`),
    index('lane_item_dead')
      .on(t.doneAt)
      .where(sql`dead`),
  ],
);

/** Only addresses whose session has, or had, another name have a row. `earlier` lists the last ones, in which repeats are recognized, too. */
export const address = pgTable(
  'address',
  {
    key: text('key').primaryKey(),
    session: text('session').notNull(),
    earlier: jsonb('earlier').$type<string[]>().notNull().default([]),
  },
  (t) => [index('address_session').on(t.session)],
);

/** `message_seq` counts the session's messages; turns at or before `fresh_seq` are no longer read by the model (`/new`). */
export const session = pgTable(
  'session',
  {
    key: text('key').primaryKey(),
    profileId: text('profile_id').notNull().default('default'),
    profileChosen: boolean('profile_chosen').notNull().default(false),
    model: text('model'),
    mode: text('mode', { enum: ['planner', 'agentic', 'teacher'] })
      .notNull()
      .default('planner'),
    queueMode: text('queue_mode', { enum: ['queue', 'steer', 'interrupt', 'collect'] })
      .notNull()
      .default('queue'),
    ownerTokenId: text('owner_token_id'),
    /** The title in lists; null until a person or the gateway sets one. */
    title: text('title'),
    /** Name of its file folder: created with the row, so that a later session of the same name has another one. */
    folder: text('folder')
      .notNull()
      .default(sql`gen_random_uuid()::text`),
    /** Sources of everything the model has read in it since `/new` or `/trust`. */
    sources: jsonb('sources').$type<Source[]>().notNull().default([]),
    /** Listed first. */
    pinned: boolean('pinned').notNull().default(false),
    /** Not listed. */
    archived: boolean('archived').notNull().default(false),
    /** The last message that was read on the page. */
    readSeq: integer('read_seq').notNull().default(0),
    /** Answers are also spoken; and the last one could not be, which was reported to the chat. */
    voice: boolean('voice').notNull().default(false),
    voiceFailing: boolean('voice_failing').notNull().default(false),
    /** The turn whose undo was begun: no turn starts before it is finished. */
    undoing: text('undoing'),
    messageSeq: integer('message_seq').notNull().default(0),
    freshSeq: integer('fresh_seq').notNull().default(0),
    /** When that was; null = never. */
    freshAt: moment('fresh_at'),
    createdAt: createdAt(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    index('session_recent').on(t.updatedAt.desc().nullsFirst(), t.key),
    index('session_owner').on(t.ownerTokenId, t.updatedAt.desc().nullsFirst()),
    index('session_pinned')
      .on(t.updatedAt)
      .where(sql`pinned`),
  ],
);

/** `user_seq` and `final_seq` are the turn's rows in `message`; of a turn that may stay silent `user_seq` is the row before it. A `lane_seq` below 0 was dropped from its queue. */
export const turn = pgTable(
  'turn',
  {
    id: text('id').primaryKey(),
    session: text('session').notNull(),
    address: text('address').notNull(),
    laneSeq: integer('lane_seq').notNull(),
    state: text('state', { enum: ['queued', 'running', 'parked', 'done'] })
      .notNull()
      .default('queued'),
    reason: text('reason'),
    /** Why it failed. */
    failure: jsonb('failure').$type<TurnFailure>(),
    userSeq: integer('user_seq').notNull(),
    finalSeq: integer('final_seq'),
    /** The first turn of its question, which this one answers again. */
    retryOf: text('retry_of'),
    /** A person excluded it from what the model reads: its rows have `summarized_by` 0. */
    leftOut: boolean('left_out').notNull().default(false),
    createdAt: createdAt(),
    endedAt: moment('ended_at'),
  },
  (t) => [
    index('turn_session').on(t.session, t.laneSeq),
    index('turn_retry')
      .on(t.retryOf)
      .where(sql`retry_of is not null`),
  ],
);

/** What people see; rewritten only when its sender edits it before its turn has begun. */
export const message = pgTable(
  'message',
  {
    session: text('session').notNull(),
    seq: integer('seq').notNull(),
    turnId: text('turn_id').notNull(),
    role: text('role', { enum: ['user', 'assistant', 'system'] }).notNull(),
    content: text('content').notNull(),
    senderName: text('sender_name'),
    isPlan: boolean('is_plan').notNull().default(false),
    isError: boolean('is_error').notNull().default(false),
    /** The files that came with it, once their bytes were read. */
    attachments: jsonb('attachments').$type<Attachment[]>(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.session, t.seq] }),
    index('message_words').using('gin', sql`to_tsvector('simple', ${t.content})`),
  ],
);

/**
 * What the model sees, and a turn's journal; (turn, iteration, kind, part) makes a repeated row a no-op.
 * `summarized_by` is the summary that replaces a row, or 0 if a person has left its turn out.
 */
export const context = pgTable(
  'context',
  {
    seq: bigint('seq', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    session: text('session').notNull(),
    laneSeq: integer('lane_seq').notNull(),
    turnId: text('turn_id').notNull(),
    iteration: integer('iteration').notNull(),
    kind: text('kind').notNull(),
    part: integer('part').notNull(),
    payload: jsonb('payload').notNull(),
    tokens: integer('tokens').notNull(),
    summarizedBy: bigint('summarized_by', { mode: 'number' }),
  },
  (t) => [
    unique('context_step').on(t.turnId, t.iteration, t.kind, t.part),
    index('context_history')
      .on(t.session, t.laneSeq, t.seq)
      .where(sql`summarized_by is null and kind <> 'tool_intent'`),
  ],
);

/** Platform ids of the messages on screen, by part; `ref` is a turn id or a notice's ref. */
export const delivery = pgTable(
  'delivery',
  {
    ref: text('ref').primaryKey(),
    parts: jsonb('parts').notNull(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [index('delivery_age').on(t.updatedAt)],
);

/** Approval requests; the decision wakes `lane`. */
export const approval = pgTable(
  'approval',
  {
    id: text('id').primaryKey(),
    lane: text('lane').notNull(),
    turnId: text('turn_id').notNull(),
    detail: jsonb('detail').notNull(),
    state: text('state', { enum: ['pending', 'approved', 'denied'] })
      .notNull()
      .default('pending'),
    decidedBy: text('decided_by'),
    /** For display only. */
    decidedName: text('decided_name'),
    /** What the person wrote when denying it. */
    reason: text('reason'),
    createdAt: createdAt(),
    expiresAt: moment('expires_at').notNull(),
    decidedAt: moment('decided_at'),
  },
  (t) => [
    index('approval_turn').on(t.turnId, t.createdAt),
    index('approval_pending')
      .on(t.lane, t.createdAt)
      .where(sql`state = 'pending'`),
    // The questions that a person was asked.
    index('approval_question')
      .on(sql`(${t.detail} #>> '{question,userId}')`, t.createdAt)
      .where(sql`${t.detail} ? 'question'`),
  ],
);
