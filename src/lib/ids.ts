/** Ids that sort by creation time (UUID version 7, RFC 9562). */
import { randomUUID } from 'node:crypto';

/** A new id, 36 characters; `now` is epoch milliseconds. */
export function newId(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, '0');
  // Node keeps random bytes ready for version 4, which differs only in the time and one digit.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
