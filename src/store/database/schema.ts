/**
 * Every table; `npm run migrations` turns a change here into a file under `drizzle/`. This file: lanes, sessions, turns,
 * deliveries, access and usage.
 */
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, sql, text, unique } from './drizzle.ts';
import { createdAt, moment } from './columns.ts';

export * from './schema-agent.ts';

/** One row per process start; a process whose lease expired counts as dead. */
export const node = pgTable('node', {
  id: text('id').primaryKey(),
  instance: text('instance').notNull(),
  leaseUntil: moment('lease_until').notNull(),
});

/**
 * `head` is the last finished seq, `tail` the last accepted one. `owner` is the node that works on head + 1; `epoch`
 * rises with each claim, and `claim` names the call that made it, so that a call whose answer was lost finds its claims.
 * Up to `joined_seq` messages were taken into the turn of the head; the turn at `interrupt_seq` is to end for the next one.
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
    stopSeq: integer('stop_seq').notNull().default(0),
    joinedSeq: integer('joined_seq').notNull().default(0),
    interruptSeq: integer('interrupt_seq').notNull().default(0),
  },
  (t) => [
    index('lane_due')
      .on(t.class, t.wakeAt)
      .where(sql`tail > head and owner is null`),
    index('lane_owner')
      .on(t.owner)
      .where(sql`owner is not null`),
    index('lane_pending')
      .on(t.class)
      .where(sql`tail > head`),
  ],
);

/** A message in a lane. `done_epoch` is the fence under which a message ended: by it a finish whose answer was lost is recognised. */
export const laneItem = pgTable(
  'lane_item',
  {
    lane: text('lane').notNull(),
    seq: integer('seq').notNull(),
    dedupe: text('dedupe').notNull(),
    payload: jsonb('payload').notNull(),
    attempts: integer('attempts').notNull().default(0),
    crashes: integer('crashes').notNull().default(0),
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

/** Only addresses whose session has another name have a row. */
export const address = pgTable(
  'address',
  { key: text('key').primaryKey(), session: text('session').notNull() },
  (t) => [index('address_session').on(t.session)],
);

/** `message_seq` counts the session's messages; turns at or before `fresh_seq` are no longer read by the model (`/new`). */
export const session = pgTable(
  'session',
  {
    key: text('key').primaryKey(),
    profileId: text('profile_id').notNull().default('default'),
    model: text('model'),
    mode: text('mode', { enum: ['planner', 'agentic', 'teacher'] })
      .notNull()
      .default('planner'),
    queueMode: text('queue_mode', { enum: ['queue', 'steer', 'interrupt', 'collect'] })
      .notNull()
      .default('queue'),
    ownerTokenId: text('owner_token_id'),
    messageSeq: integer('message_seq').notNull().default(0),
    freshSeq: integer('fresh_seq').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    index('session_recent').on(t.updatedAt.desc().nullsFirst(), t.key),
    index('session_owner').on(t.ownerTokenId, t.updatedAt.desc().nullsFirst()),
  ],
);

/** `user_seq` and `final_seq` are the turn's rows in `message`; of a turn that may stay silent `user_seq` is the row before it. */
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
    userSeq: integer('user_seq').notNull(),
    finalSeq: integer('final_seq'),
    createdAt: createdAt(),
    endedAt: moment('ended_at'),
  },
  (t) => [index('turn_session').on(t.session, t.laneSeq)],
);

/** What people see; never rewritten. */
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
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.session, t.seq] })],
);

/** What the model sees, and the journal of a turn; (turn, iteration, kind, part) makes a repeated row a no-op. */
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
    /** Display only. */
    decidedName: text('decided_name'),
    createdAt: createdAt(),
    expiresAt: moment('expires_at').notNull(),
    decidedAt: moment('decided_at'),
  },
  (t) => [
    index('approval_turn').on(t.turnId, t.createdAt),
    index('approval_pending')
      .on(t.lane, t.createdAt)
      .where(sql`state = 'pending'`),
  ],
);

/** Rights of people to write in private (`dm`), and of groups to be answered. */
export const grant = pgTable(
  'grant',
  {
    channel: text('channel').notNull(),
    kind: text('kind', { enum: ['dm', 'group'] }).notNull(),
    id: text('id').notNull(),
    grantedAt: moment('granted_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.channel, t.kind, t.id] })],
);

/** One code per stranger and hour, stored as SHA-256. A used code stays until it expires. */
export const pairing = pgTable(
  'pairing',
  {
    channel: text('channel').notNull(),
    senderId: text('sender_id').notNull(),
    senderName: text('sender_name'),
    codeHash: text('code_hash').notNull(),
    expiresAt: moment('expires_at').notNull(),
    usedAt: moment('used_at'),
  },
  (t) => [primaryKey({ columns: [t.channel, t.senderId] }), unique('pairing_code').on(t.codeHash)],
);

/** HTTP tokens by their SHA-256. */
export const token = pgTable('token', {
  id: text('id').primaryKey(),
  hash: text('hash').notNull().unique('token_hash'),
  name: text('name').notNull(),
  scopes: jsonb('scopes').$type<('chat' | 'admin')[]>().notNull(),
  createdAt: createdAt(),
});

/** Tokens and model time, by turn or by stateless call. */
export const usage = pgTable(
  'usage',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    turnId: text('turn_id'),
    session: text('session'),
    /** Who the turn answered, as a user id. */
    userId: text('user_id'),
    tokenId: text('token_id'),
    /** What the calls were for. */
    purpose: text('purpose', { enum: ['turn', 'plan', 'subagent', 'compression', 'stateless'] })
      .notNull()
      .default('turn'),
    model: text('model').notNull(),
    promptTokens: integer('prompt_tokens').notNull(),
    completionTokens: integer('completion_tokens').notNull(),
    modelMs: integer('model_ms').notNull(),
    /** The tokens are estimates, at least some of them. */
    estimated: boolean('estimated').notNull().default(false),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [
    index('usage_at').on(t.at),
    index('usage_turn').on(t.turnId),
    index('usage_session').on(t.session, t.at),
    index('usage_user').on(t.userId, t.at),
  ],
);
