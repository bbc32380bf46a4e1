/**
 * The choice of a language: kept by the gateway for the person, as `/language` does, and in a cookie of this browser,
 * because the page is requested before its reader is known.
 */
import { api } from './api.ts';
import { language as shown } from './texts.ts';

/** The language that a person reads, whether they chose it, and the codes of all that there are. */
export interface LanguageChoice {
  language: string;
  chosen: boolean;
  languages: string[];
}

const COOKIE = 'parley_language';
const KEPT_SECONDS = 365 * 86_400;
/** Says for which language the page was reloaded: a browser that keeps no cookies would reload it forever. */
const TRIED_KEY = 'parley-language-tried';

/**
 * Reads the choice (`GET /v1/language`), and reloads the page in the language that the person reads, if it is in another
 * one. Unsent text is kept as a draft. Rejects with `ApiError`.
 */
export async function readLanguage(): Promise<LanguageChoice> {
  const choice = await api.ask<LanguageChoice>('GET', '/v1/language');
  follow(choice, false);
  return choice;
}

/** Chooses a language by its code, or `auto` (`PATCH /v1/language`), and reloads the page in it. Rejects with `ApiError`. */
export async function chooseLanguage(code: string): Promise<void> {
  follow(await api.ask<LanguageChoice>('PATCH', '/v1/language', { language: code }), true);
}

function follow({ language, chosen: isChosen }: LanguageChoice, isNew: boolean): void {
  const age = isChosen ? KEPT_SECONDS : 0;
  document.cookie = `${COOKIE}=${isChosen ? language : ''}; path=/; max-age=${age}; samesite=lax`;
  if (language === shown) sessionStorage.removeItem(TRIED_KEY);
  if (language === shown || (!isNew && sessionStorage.getItem(TRIED_KEY) === language)) return;
  sessionStorage.setItem(TRIED_KEY, language);
  location.reload();
}

/** The name of a language in that language. */
export function languageName(code: string): string {
  return new Intl.DisplayNames([code], { type: 'language', fallback: 'code' }).of(code) ?? code;
}
