/** The route about usage: tokens and model time by day, session, user, model or purpose. */
import { MAX_USAGE_DAYS, USAGE_GROUPS, type UsageGroup } from '../../../../src/protocol/agent/usage.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { HttpError } from '../../errors.ts';

const DAY_MS = 86_400_000;
/** Days of a report whose `from` is not given. */
const DEFAULT_DAYS = 30;

/** A token sees its own usage, an admin everything. `from` is inclusive, `to` exclusive; both default to the last 30 days. */
export async function readUsage(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const to = dateParam(c, 'to') ?? new Date();
  const from = dateParam(c, 'from') ?? new Date(to.getTime() - DEFAULT_DAYS * DAY_MS);
  const spanMs = to.getTime() - from.getTime();
  if (spanMs <= 0 || spanMs > MAX_USAGE_DAYS * DAY_MS) {
    throw badQuery('from', `before "to", and by at most ${MAX_USAGE_DAYS} days`);
  }
  const by = c.req.query('by') ?? 'day';
  if (!isGroup(by)) throw badQuery('by', `one of ${USAGE_GROUPS.join(', ')}`);
  const report = await deps.gateway.usage(c.get('caller'), { from, to }, by);
  return c.json({ from: from.toISOString(), to: to.toISOString(), by, ...report });
}

function dateParam(c: HttpContext, param: string): Date | undefined {
  const text = c.req.query(param);
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw badQuery(param, 'an ISO date or time, such as 2026-01-31');
  return date;
}

function isGroup(by: string): by is UsageGroup {
  return USAGE_GROUPS.some((group) => group === by);
}

function badQuery(param: string, expected: string): HttpError {
  return new HttpError(400, 'invalid_query', `"${param}" must be ${expected}.`, { param });
}
