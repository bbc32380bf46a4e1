/** Columns used by several tables: timestamps, set by the database's clock, and bytes. */
import { customType, timestamp } from './drizzle.ts';

export const moment = (name: string) => timestamp(name, { withTimezone: true });
export const createdAt = () => moment('created_at').notNull().defaultNow();
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
