/** The built-in languages, with people who have chosen nothing: for tests of parts that only produce texts. */
import { ENGLISH } from '../../../src/protocol/texts/english.ts';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import { bestLanguage, type PersonLanguages } from '../../../src/protocol/texts/languages.ts';
import { sayFrom } from '../../../src/protocol/texts/say.ts';

const SAYS = new Map([
  ['en', sayFrom('en', ENGLISH)],
  ['de', sayFrom('de', GERMAN)],
]);
const inEnglish = sayFrom('en', ENGLISH);

const ofStranger = (wanted = 'en'): string => bestLanguage(wanted, [...SAYS.keys()]) ?? 'en';

/** Everyone reads what their platform reports, else English. */
export const builtInLanguages: PersonLanguages = {
  codes: () => [...SAYS.keys()],
  say: ({ language = 'en' }) => SAYS.get(language) ?? inEnglish,
  languageOf: (_userId, wanted) => Promise.resolve(ofStranger(wanted)),
  ofStranger,
  notePlatform: () => Promise.resolve(),
  choose: () => Promise.resolve(),
  hasChosen: () => Promise.resolve(false),
};

/** The same, with people who choose: each choice is remembered. */
export function chosenLanguages(): PersonLanguages {
  const chosen = new Map<string, string>();
  return {
    ...builtInLanguages,
    languageOf: (userId, wanted) => Promise.resolve(chosen.get(userId) ?? ofStranger(wanted)),
    choose: async (userId, language) =>
      void (language === undefined ? chosen.delete(userId) : chosen.set(userId, language)),
    hasChosen: (userId) => Promise.resolve(chosen.has(userId)),
  };
}
