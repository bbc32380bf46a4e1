/** Reads complete lists from a server, page by page, within limits. */
import { z } from 'zod';
import type { Connection } from './connection.ts';

/** Maximum number of entries in one list, and of its pages, that are read. */
const MAX_LISTED = 1_000;
const MAX_PAGES = 50;
/** Longest wait for one page, in milliseconds. */
const PAGE_MS = 30_000;

/** The lists that servers have, by the method that requests them. */
const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;

/** Every entry as the server sent it, at most `MAX_LISTED`. Throws the errors of the request. */
export async function listAll(
  { request }: Pick<Connection, 'request'>,
  method: keyof typeof LISTS,
  signal: AbortSignal,
): Promise<unknown[]> {
  const field = LISTS[method];
  const page = z.looseObject({
    [field]: z.array(z.unknown()).default([]),
    nextCursor: z.string().optional(),
  });
  const found: unknown[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < MAX_PAGES && found.length < MAX_LISTED; n += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request({ method, params }, page, { signal, timeout: PAGE_MS });
    const entries = answer[field];
    found.push(...(Array.isArray(entries) ? entries : []));
    const next = answer['nextCursor'];
    if (typeof next !== 'string' || next === cursor) break;
    cursor = next;
  }
  return found.slice(0, MAX_LISTED);
}
