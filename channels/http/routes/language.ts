/** The language that a person reads, on the page and in chats: what it is, and choosing another one. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { AUTO, LANGUAGE_CODE, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';
import { readJson } from '../body.ts';
import { HttpError } from '../errors.ts';
import { wantedLanguages } from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** The body. */
export const languageSchema = z.strictObject({ language: z.string().min(1).max(20) });

/** The answer. */
export const languageAnswer = z.object({
  /** Code of the language. */
  language: z.string(),
  /** Whether the person has chosen it. */
  chosen: z.boolean(),
  /** Codes of all that exist. */
  languages: z.array(z.string()),
});

/** Which language the caller reads. */
export async function readLanguage(c: HttpContext, { languages }: HandlerDeps): Promise<Response> {
  return c.json(await languageOfCaller(c, languages));
}

/**
 * Keeps the caller's choice, as `/language` does; `auto` takes it back. Throws `HttpError` 400 for one that does not
 * exist.
 */
export async function chooseLanguage(c: HttpContext, { languages }: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { language } = await readJson(incoming, outgoing, languageSchema);
  const codes = languages.codes();
  if (language !== AUTO && !codes.includes(language)) {
    const text = `There is no language "${language}". Languages: ${codes.join(', ')}.`;
    throw new HttpError(400, 'unknown_language', text, { param: 'language' });
  }
  await languages.choose(userIdOf(c), language === AUTO ? undefined : language);
  return c.json(await languageOfCaller(c, languages));
}

async function languageOfCaller(
  c: HttpContext,
  languages: HandlerDeps['languages'],
): Promise<z.infer<typeof languageAnswer>> {
  const userId = userIdOf(c);
  const [language, chosen] = await Promise.all([
    languages.languageOf(userId, wantedLanguages(c.env.incoming)),
    languages.hasChosen(userId),
  ]);
  return { language, chosen, languages: [...languages.codes()] };
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
