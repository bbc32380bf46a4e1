/** Parts of a file and repeated downloads: `Range`, `If-Range` and `If-None-Match` (RFC 9110, 13 and 14). */
import type { IncomingMessage } from 'node:http';

/** What a request for a file gets: the whole, a part from `from` to before `to`, nothing new, or a refusal. */
export type Selection =
  | { status: 200 }
  | { status: 206; from: number; to: number }
  | { status: 304 }
  | { status: 416 };

/**
 * Reads the headers of a request for a file of that many bytes. Several ranges at once, other units and malformed ranges get
 * the whole, as the RFC allows. Never throws.
 */
export function selectionOf({ headers, method }: IncomingMessage, etag: string, bytes: number): Selection {
  const known = headers['if-none-match'];
  if (known !== undefined && matches(known, etag)) return { status: 304 };
  const { range, 'if-range': validator } = headers;
  if (range === undefined || method !== 'GET') return { status: 200 };
  if (validator !== undefined && validator !== etag) return { status: 200 };
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/.exec(range) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return { status: 200 };
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? { status: 416 } : { status: 206, from: bytes - length, to: bytes };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return { status: 200 };
  if (from >= bytes) return { status: 416 };
  return { status: 206, from, to: last === '' ? bytes : Math.min(Number(last) + 1, bytes) };
}

/** True if one of the listed tags is this one: weak or strong, as `If-None-Match` compares. */
function matches(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
