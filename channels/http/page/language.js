/**
 * The choice of a language: kept by the gateway for the person, as `/language` does, and in a cookie of this browser,
 * because the page is requested before its reader is known.
 */
import { byId, h } from './dom.js';
import { language as shown, say } from './texts.js';

/** @typedef {import('./api.js').Api} Api */
/** @typedef {{ language: string, chosen: boolean, languages: string[] }} Choice */

const COOKIE = 'parley_language';
const KEPT_SECONDS = 365 * 86_400;
/** Says for which language the page was reloaded: a browser that keeps no cookies would reload it forever. */
const TRIED_KEY = 'parley-language-tried';

/**
 * Offers the languages, and reloads the page in the one that the person reads, if it is in another one. Unsent text is
 * kept as a draft.
 * @param {Api} api
 * @param {(error: unknown) => void} showError
 */
export async function offerLanguages(api, showError) {
  const choice = byId('language', HTMLSelectElement);
  choice.addEventListener('change', () => {
    api
      .ask('PATCH', '/v1/language', { language: choice.value })
      .then((/** @type {Choice} */ answer) => follow(answer, true))
      .catch(showError);
  });
  /** @type {Choice} */
  const { language, chosen: isChosen, languages } = await api.ask('GET', '/v1/language');
  const codes = ['auto', ...languages];
  choice.replaceChildren(
    ...codes.map((code) =>
      h('option', { value: code }, code === 'auto' ? say('page.language.auto') : nameOf(code)),
    ),
  );
  choice.value = isChosen ? language : 'auto';
  follow({ language, chosen: isChosen, languages }, false);
}

/**
 * @param {Choice} choice
 * @param {boolean} isNew
 */
function follow({ language, chosen: isChosen }, isNew) {
  const age = isChosen ? KEPT_SECONDS : 0;
  document.cookie = `${COOKIE}=${isChosen ? language : ''}; path=/; max-age=${age}; samesite=lax`;
  if (language === shown) sessionStorage.removeItem(TRIED_KEY);
  if (language === shown || (!isNew && sessionStorage.getItem(TRIED_KEY) === language)) return;
  sessionStorage.setItem(TRIED_KEY, language);
  location.reload();
}

/**
 * The name of a language in that language.
 * @param {string} code
 */
function nameOf(code) {
  return new Intl.DisplayNames([code], { type: 'language', fallback: 'code' }).of(code) ?? code;
}
