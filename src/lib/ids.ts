/** Ids that sort by creation time (UUID version 7, RFC 9562). */
import { randomUUID } from 'node:crypto';

/** A new id, 36 characters; `now` is epoch milliseconds. */
export function newId(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, '0');
  // Node keeps random bytes ready for version 4, which differs only in the time and one digit.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Epoch milliseconds at which an id, or one with a suffix, was made; `otherwise` for any other text. Never throws. */
export function timeOf(id: string, fallback: number = Date.now()): number {
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/.exec(id);
  return time === null ? fallback : Number.parseInt(`${time[1]}${time[2]}`, 16);
}
