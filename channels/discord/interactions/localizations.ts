/** Texts of commands in other languages, by Discord's language names. Pure. */
import { bestLanguage, type Languages } from '../../../src/contracts/texts/languages.ts';
import type { PlainKey, Say } from '../../../src/contracts/texts/say.ts';

/** Every language of Discord's except English, which everyone who reads none of these gets. */
const LOCALES =
  'id da de es-ES es-419 fr hr it lt hu nl no pl pt-BR ro fi sv-SE vi tr cs el bg ru uk hi th zh-CN ja zh-TW ko'.split(
    ' ',
  );

/** A text in other languages; absent if there is none. */
export type Localizations = Record<string, string> | undefined;

/** Returns a text in all of them. */
export type Localize = (key: PlainKey | undefined) => Localizations;

/** Creates it; cuts each text at `most` characters, which is Discord's limit for it. */
export function localizeBy(languages: Languages, most: number): Localize {
  const codes = languages.codes().filter((code) => code !== 'en');
  const says = LOCALES.flatMap((locale): [string, Say][] => {
    const code = bestLanguage(locale, codes);
    return code === undefined ? [] : [[locale, languages.say({ language: code, channel: 'discord' })]];
  });
  return (key) =>
    key === undefined || says.length === 0
      ? undefined
      : Object.fromEntries(says.map(([locale, say]) => [locale, clip(say(key), most)]));
}

/** A text cut to as many characters as Discord accepts. */
export function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`.toWellFormed();
}
