/** What clients may read by its address: the JSON of some routes, as `parley://` and the rest of their path. */
import type { McpOffer, OfferedResource } from '../../../src/protocol/mcp-offer.ts';
import { z } from 'zod';
import { HttpError } from '../errors.ts';
import type { HttpContext } from '../route.ts';
import { listedSessionJson } from '../wire.ts';
import { type CallRoute, segment } from './call-route.ts';

const SCHEME = 'parley://';

/** Longest address that is read. */
const MAX_URI = 500;
/** Sessions on a page of the list, and its pages: the official client refuses a list of more than 64. */
const PAGE_SIZE = 50;
const MAX_PAGES = 60;

/** Lists, each one resource. */
const LISTS: readonly OfferedResource[] = [
  { uri: `${SCHEME}sessions`, name: 'sessions', description: 'The newest sessions of the token' },
  { uri: `${SCHEME}schedules`, name: 'schedules', description: 'Tasks that start on their own' },
  { uri: `${SCHEME}approvals`, name: 'approvals', description: 'Calls that wait for a decision' },
];

/** The rest, by address. */
const TEMPLATES: readonly OfferedResource[] = [
  { uri: `${SCHEME}sessions/{session}`, name: 'session', description: 'The settings of a session' },
  {
    uri: `${SCHEME}sessions/{session}/messages`,
    name: 'messages',
    description: 'The newest messages of a session',
  },
  {
    uri: `${SCHEME}sessions/{session}/plan`,
    name: 'plan of a session',
    description: 'Its newest plan and its todo list',
  },
  { uri: `${SCHEME}plans/{plan}`, name: 'plan', description: 'A plan with its steps' },
];

/** Each template as a pattern: what stands for a name has no slash. */
const PATTERNS = [...LISTS, ...TEMPLATES].map(
  ({ uri }) => new RegExp(`^${uri.slice(SCHEME.length).replaceAll(/\{\w+\}/g, '[^/?#]+')}$`),
);

const listed = z.object({ sessions: z.array(listedSessionJson) });

/** Makes what lists and reads the resources of a caller. Both throw `GatewayError`. */
export function resourcesFor(
  c: HttpContext,
  callRoute: CallRoute,
): Pick<McpOffer, 'resources' | 'read' | 'templates'> {
  return {
    templates: TEMPLATES,
    async resources(cursor) {
      const { page: number, before } = readCursor(cursor);
      const query = { limit: PAGE_SIZE, before };
      const page = await callRoute(c, { method: 'GET', path: '/v1/sessions', query });
      const { sessions } = listed.parse(JSON.parse(page));
      const resources = sessions.map(({ key, title, preview }) => ({
        uri: `${SCHEME}sessions/${key}/messages`,
        name: title ?? (preview === '' ? key : preview),
      }));
      const last = sessions.at(-1);
      return {
        resources: [...(cursor === undefined ? LISTS : []), ...resources],
        ...(sessions.length >= PAGE_SIZE &&
          number < MAX_PAGES &&
          last !== undefined && { next: `${number + 1}@${last.updatedAt}` }),
      };
    },
    async read(uri) {
      const path = uri.slice(SCHEME.length);
      if (uri.length > MAX_URI || !uri.startsWith(SCHEME) || !PATTERNS.some((one) => one.test(path)))
        return undefined;
      const parts = path.split('/').map((part) => segment(decoded(part)));
      try {
        return await callRoute(c, { method: 'GET', path: `/v1/${parts.join('/')}` });
      } catch (error) {
        if (error instanceof HttpError && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

/** The number of a page, and what is older than its sessions; the route refuses what is no time. */
function readCursor(cursor: string | undefined): { page: number; before: string | undefined } {
  const [, page = '1', before = cursor] = /^(\d{1,2})@(.*)$/.exec(cursor ?? '') ?? [];
  return { page: Number(page), before };
}

/** A key as clients write it in an address: as it is, or encoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // No key has such a name: the route says that there is none.
    return part;
  }
}
