/** Timestamp columns, set by the database's clock. */
import { timestamp } from './drizzle.ts';

export const moment = (name: string) => timestamp(name, { withTimezone: true });
export const createdAt = () => moment('created_at').notNull().defaultNow();
