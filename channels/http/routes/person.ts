/** The route about usage: tokens and model time by day, session, user, model or purpose. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { MAX_USAGE_DAYS, USAGE_GROUPS, type UsageGroup } from '../../../src/protocol/agent/usage.ts';
import { AUTO, LANGUAGE_CODE, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { badQuery, HttpError } from '../errors.ts';
import { wantedLanguages } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';

const DAY_MS = 86_400_000;

/** Days of a report whose `from` is not given. */
const DEFAULT_DAYS = 30;

const languageAnswer = z.object({
  language: z.string(),
  chosen: z.boolean(),
  languages: z.array(z.string()),
});

const route = routeOf('gateway');
const usageRoute = routeOf('usage');

export const personRoutes: readonly Route[] = [
  route('GET', '/v1/language', 'chat', {
    summary: 'The language that the token reads',
    description: '`auto` means that each request says it with `Accept-Language`.',
    answer: languageAnswer,
    async handle(c, { languages }) {
      return c.json(await languageOfCaller(c, languages));
    },
  }),
  route('PATCH', '/v1/language', 'chat', {
    summary: 'Choose another one; "auto" leaves it to Accept-Language',
    description: "Applies in every chat of the token's person, like the command `/language`.",
    body: z.strictObject({ language: z.string().min(1).max(20) }),
    answer: languageAnswer,
    async handle(c, { languages }, read) {
      const { language } = await read();
      const codes = languages.codes();
      if (language !== AUTO && !codes.includes(language)) {
        const text = `There is no language "${language}". Languages: ${codes.join(', ')}.`;
        throw new HttpError(400, 'unknown_language', text, { param: 'language' });
      }
      await languages.choose(userIdOf(c), language === AUTO ? undefined : language);
      return c.json(await languageOfCaller(c, languages));
    },
  }),
  route('GET', '/v1/me/memories', 'chat', {
    summary: 'What is remembered about the person of the token, newest first',
    description: 'From all chats that are theirs. With `q`, what matches best comes first.',
    query: { q: 'only facts with these words, or with a similar meaning' },
    async handle(c, { gateway }) {
      const words = cleanText(c.req.query('q') ?? '').trim();
      const caller = c.get('caller');
      const memories = await gateway.memories.own(caller, words === '' ? undefined : words);
      return c.json({ memories });
    },
  }),
  route('DELETE', '/v1/me/memories/:id', 'chat', {
    summary: 'Forget one fact',
    description: 'No later answer will know it.',
    async handle(c, { gateway }) {
      const text = c.req.param('id') ?? '';
      const id = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
      if (id === undefined || !(await gateway.memories.deleteMemory(c.get('caller'), id)))
        throw new HttpError(404, 'memory_not_found', 'There is no such fact about you.');
      return c.json({ id, deleted: true });
    },
  }),
  usageRoute('GET', '/v1/usage', 'chat', {
    summary: 'Tokens and model time',
    description: 'Admins see everything, others their own; `cost` where prices are set.',
    query: {
      from: 'ISO date, inclusive',
      to: 'ISO date, exclusive',
      by: '`day`, `session`, `user`, `model` or `purpose`',
    },
    async handle(c, deps) {
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
    },
  }),
];

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

async function languageOfCaller(
  c: HttpContext,
  languages: HandlerDeps['languages'],
): Promise<z.infer<typeof languageAnswer>> {
  const userId = userIdOf(c);
  const [language, hasChosen] = await Promise.all([
    languages.languageOf(userId, wantedLanguages(c.env.incoming)),
    languages.hasChosen(userId),
  ]);
  return { language, chosen: hasChosen, languages: [...languages.codes()] };
}

/** What says texts to the caller. Never throws. */
export async function sayToCaller(c: HttpContext, { languages }: HandlerDeps): Promise<Say> {
  return await sayToPerson(languages, userIdOf(c), wantedLanguages(c.env.incoming));
}

function userIdOf(c: HttpContext): string {
  return `token:${c.get('caller').tokenId}`;
}

/** The choice that the page keeps in its browser, for the time before the user is known; undefined without one. */
export function languageCookie({ headers }: IncomingMessage): string | undefined {
  const [, code] = /(?:^|; ?)parley_language=([\w-]{2,20})(?:;|$)/.exec(headers.cookie ?? '') ?? [];
  return code !== undefined && LANGUAGE_CODE.test(code) ? code : undefined;
}
