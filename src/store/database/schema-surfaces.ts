/** The tables of surfaces: chats that share a session, and the codes with which they joined it. */
import { bigint, boolean, index, pgTable, text } from './drizzle.ts';
import { createdAt, moment } from './columns.ts';

/**
 * A chat that shares a session with others. `is_home`: its own conversation continues as the shared one; any other
 * chat returns to the session `before`, or to that of its own name, when it leaves.
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

/**
 * A code by its SHA-256, the chat that gave it, the chat that entered it, and who has agreed. Kept for a day, to
 * explain why it is void.
 */
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
