/** The tables of access and usage: grants, pairings, tokens, and what was used. */
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
  text,
  unique,
} from './drizzle.ts';
import { GRANT_KINDS } from '../../protocol/access.ts';
import type { BotTalk } from '../../protocol/store/group-chats.ts';
import type { ResponseItem } from '../../protocol/store/ledger.ts';

/** Rights of people to write in private (`dm`) and as an `owner`, of groups to be answered, and of guilds and roles. */
export const grant = pgTable(
  'grant',
  {
    channel: text('channel').notNull(),
    kind: text('kind', { enum: GRANT_KINDS }).notNull(),
    id: text('id').notNull(),
    grantedAt: moment('granted_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.channel, t.kind, t.id] })],
);

/** A group: whether messages that do not mention the bot are kept (null = as configured), and turns caused by bots. */
export const groupChat = pgTable(
  'group_chat',
  {
    channel: text('channel').notNull(),
    chatId: text('chat_id').notNull(),
    observe: boolean('observe'),
    bots: jsonb('bots').$type<BotTalk>().notNull().default({ turns: [] }),
  },
  (t) => [primaryKey({ columns: [t.channel, t.chatId] })],
);

/** Group messages that mentioned no one. The next turn after `after_seq`, the lane's tail at their arrival, reads them. */
export const observed = pgTable(
  'observed',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    session: text('session').notNull(),
    messageId: text('message_id').notNull(),
    channel: text('channel').notNull(),
    chatId: text('chat_id').notNull(),
    afterSeq: integer('after_seq').notNull(),
    /** Whoever else edits the message does not change it. */
    senderId: text('sender_id').notNull().default(''),
    senderName: text('sender_name').notNull(),
    content: text('content').notNull(),
  },
  (t) => [
    unique('observed_message').on(t.session, t.messageId),
    index('observed_session').on(t.session, t.id),
    index('observed_chat').on(t.channel, t.chatId),
  ],
);

/** One code per stranger and hour, stored as SHA-256. A used code is kept until it expires. */
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

/** HTTP tokens by SHA-256. A revoked one stays, so that neither a start nor a backup makes it valid again. */
export const token = pgTable('token', {
  id: text('id').primaryKey(),
  hash: text('hash').notNull().unique('token_hash'),
  name: text('name').notNull(),
  scopes: jsonb('scopes').$type<('chat' | 'approve' | 'commands' | 'admin')[]>().notNull(),
  origin: text('origin', { enum: ['env', 'file', 'cli'] })
    .notNull()
    .default('cli'),
  createdAt: createdAt(),
  expiresAt: moment('expires_at'),
  revokedAt: moment('revoked_at'),
  lastUsedAt: moment('last_used_at'),
});

/** Standing approvals of a call in a session. */
export const approvalRule = pgTable(
  'approval_rule',
  {
    id: text('id').primaryKey(),
    session: text('session').notNull(),
    /** SHA-256 over session, person, tool, arguments and the content of the files that the arguments name. */
    digest: text('digest').notNull(),
    tool: text('tool').notNull(),
    args: jsonb('args').notNull(),
    userId: text('user_id').notNull(),
    createdBy: text('created_by').notNull(),
    /** For display only. */
    createdName: text('created_name'),
    createdAt: createdAt(),
    uses: integer('uses').notNull().default(0),
    usedAt: moment('used_at'),
  },
  (t) => [
    unique('approval_rule_call').on(t.session, t.digest),
    index('approval_rule_created').on(t.createdAt),
  ],
);

/** One-time codes and tickets, and the sessions and streams that they started; all by the SHA-256 of their secret. */
export const signIn = pgTable(
  'sign_in',
  {
    id: text('id').primaryKey(),
    kind: text('kind', { enum: ['code', 'session', 'ticket', 'stream'] }).notNull(),
    hash: text('hash').notNull().unique('sign_in_hash'),
    tokenId: text('token_id').notNull(),
    client: text('client').notNull().default(''),
    /** The user named by an identity proxy; null after a link. */
    proxyUser: text('proxy_user'),
    /** For a session, updated every few minutes. */
    lastUsedAt: moment('last_used_at'),
    createdAt: createdAt(),
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [index('sign_in_token').on(t.tokenId)],
);

/** Browsers that are notified by Web Push. */
export const pushSubscription = pgTable(
  'push_subscription',
  {
    /** A digest of the token and the endpoint. */
    id: text('id').primaryKey(),
    tokenId: text('token_id').notNull(),
    endpoint: text('endpoint').notNull(),
    /** Base64url: the browser's public key, and what it shares with its senders. */
    p256dh: text('p256dh').notNull(),
    auth: text('auth').notNull(),
    /** The https origin of the page, for the push service. */
    contact: text('contact'),
    client: text('client').notNull().default(''),
    createdAt: createdAt(),
  },
  (t) => [index('push_subscription_token').on(t.tokenId)],
);

/** Calls of webhooks whose signature has no time, by webhook and digest, so that a recorded call is not accepted again. */
export const hookCall = pgTable(
  'hook_call',
  {
    id: text('id').primaryKey(),
    calledAt: moment('called_at').notNull().defaultNow(),
  },
  (t) => [index('hook_call_called').on(t.calledAt)],
);

/** Responses of `/v1/responses` that clients refer to by id, by the token that got them. */
export const storedResponse = pgTable(
  'stored_response',
  {
    tokenId: text('token_id').notNull(),
    id: text('id').notNull(),
    /** The end user of the token's client, as a digest. */
    endUser: text('end_user'),
    previousId: text('previous_id'),
    session: text('session'),
    /** Null once it was deleted because of its size. */
    input: jsonb('input').$type<ResponseItem[]>(),
    body: jsonb('body').$type<Record<string, unknown>>().notNull(),
    inputBytes: integer('input_bytes').notNull(),
    bodyBytes: integer('body_bytes').notNull(),
    /** When it was stored, or last continued. */
    usedAt: moment('used_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tokenId, t.id] }),
    index('stored_response_used').on(t.usedAt),
    index('stored_response_token').on(t.tokenId, t.usedAt),
  ],
);

/** Tokens and model time, by turn or by stateless call. */
export const usage = pgTable(
  'usage',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    turnId: text('turn_id'),
    session: text('session'),
    /** The person whom the turn answered, as a user id. */
    userId: text('user_id'),
    tokenId: text('token_id'),
    /** What the calls were for. */
    purpose: text('purpose', {
      enum: [
        'turn',
        'plan',
        'subagent',
        'stateless',
        'compression',
        'title',
        'facts',
        'replay',
        'speech',
        'embedding',
      ],
    })
      .notNull()
      .default('turn'),
    model: text('model').notNull(),
    promptTokens: integer('prompt_tokens').notNull(),
    completionTokens: integer('completion_tokens').notNull(),
    modelMs: integer('model_ms').notNull(),
    /** At least some of the tokens are estimates. */
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

/** Usage by hour of the rows up to the id `up_to`; later rows are read individually. The user '' stands for everyone. */
export const usageSum = pgTable(
  'usage_sum',
  {
    userId: text('user_id').notNull(),
    hour: moment('hour').notNull(),
    promptTokens: bigint('prompt_tokens', { mode: 'number' }).notNull(),
    completionTokens: bigint('completion_tokens', { mode: 'number' }).notNull(),
    modelMs: bigint('model_ms', { mode: 'number' }).notNull(),
    answers: integer('answers').notNull(),
    estimated: boolean('estimated').notNull(),
    upTo: bigint('up_to', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.userId, t.hour] }), index('usage_sum_up_to').on(t.upTo)],
);

/** What was spent of a budget in one period; tokens, or millionths of a currency. The key names scope, unit, period and subject. */
export const budget = pgTable(
  'budget',
  {
    key: text('key').primaryKey(),
    spent: bigint('spent', { mode: 'number' }).notNull().default(0),
    /** What owners have added to the cap. */
    more: bigint('more', { mode: 'number' }).notNull().default(0),
    /** An owner has refused to add anything. */
    refused: boolean('refused').notNull().default(false),
    /** People were told that most of it is used. */
    told: boolean('told').notNull().default(false),
    createdAt: createdAt(),
  },
  (t) => [index('budget_age').on(t.createdAt)],
);

/** What work that has not ended has reserved of a budget: all that it has used, and what its next call may use. */
export const budgetHold = pgTable(
  'budget_hold',
  {
    /** The turn, the subagent, or the single call. */
    holder: text('holder').notNull(),
    key: text('key').notNull(),
    inTokens: boolean('in_tokens').notNull(),
    amount: bigint('amount', { mode: 'number' }).notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.holder, t.key] }), index('budget_hold_key').on(t.key)],
);

/**
 * A chat that shares a session. With `is_home` its own conversation became the shared one; any other chat returns to
 * the session `before`, or to that of its own name, when it leaves.
 */
export const surface = pgTable(
  'surface',
  {
    address: text('address').primaryKey(),
    session: text('session').notNull(),
    place: text('place', { enum: ['private', 'group'] }).notNull(),
    /** For display only. */
    name: text('name'),
    userId: text('user_id').notNull(),
    isHome: boolean('is_home').notNull(),
    before: text('before'),
    linkedAt: moment('linked_at').notNull().defaultNow(),
  },
  (t) => [index('surface_session').on(t.session)],
);

/** A code by SHA-256, the two chats, and who has agreed. Kept for a day, to explain why it no longer works. */
export const link = pgTable(
  'link',
  {
    hash: text('hash').primaryKey(),
    session: text('session').notNull(),
    address: text('address').notNull(),
    place: text('place', { enum: ['private', 'group'] }).notNull(),
    name: text('name'),
    userId: text('user_id').notNull(),
    agreed: boolean('agreed').notNull().default(false),
    toAddress: text('to_address'),
    toPlace: text('to_place', { enum: ['private', 'group'] }),
    toName: text('to_name'),
    toUserId: text('to_user_id'),
    toAgreed: boolean('to_agreed').notNull().default(false),
    ended: text('ended', { enum: ['joined', 'declined', 'replaced'] }),
    createdAt: createdAt(),
    expiresAt: moment('expires_at').notNull(),
  },
  (t) => [index('link_address').on(t.address), index('link_to_address').on(t.toAddress)],
);

/** Wrong codes of the last few minutes. */
export const linkTry = pgTable(
  'link_try',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    userId: text('user_id').notNull(),
    address: text('address').notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [index('link_try_at').on(t.at)],
);
