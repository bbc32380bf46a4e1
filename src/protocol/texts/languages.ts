/** The languages in which people can read the gateway's texts, and which of them a person reads. */
import { isAddress, parseAddress } from '../message.ts';
import type { Recipient, Say, SayIn } from './say.ts';

/** The setting `language`, and the choice of `/language`, that leaves it to the platform. */
export const AUTO = 'auto';

/** The form of a language's code, which is also the name of its file: `de`, `pt-BR`. */
export const LANGUAGE_CODE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}$/;

/** Longest list of languages that is read from a platform's report, in UTF-16 units. */
export const MAX_WANTED_CHARS = 500;

/** The available languages. */
export interface Languages {
  /** Their codes: English, German, then those of files. */
  codes(): readonly string[];
  say: SayIn;
}

/** A person by their user id (`telegram:42`), or the reader at an address. Never throws. */
export function recipientOf(userIdOrAddress: string, language: string | undefined): Recipient {
  if (!isAddress(userIdOrAddress)) return { language };
  const { channel, threadId } = parseAddress(userIdOrAddress);
  return { language, channel, threadId };
}

/**
 * The language as stored with a text to be worded later; nothing for English, which is the default if nothing is
 * stored.
 */
export function languageMark({ language }: Pick<Say, 'language'>): { language?: string } {
  return language === 'en' ? {} : { language };
}

/**
 * The names under which a person's chosen language and the newest one from their platform are stored
 * (`ChatSettingStore`).
 */
export const LANGUAGE_SETTING = 'language';
export const PLATFORM_LANGUAGE = 'platform_language';

/** Which language a person reads. */
export interface PersonLanguages extends Languages {
  /**
   * The language of a person by their user id: the one they have chosen, else that of the setting, else the one that
   * their platform reports (`wanted`, or what it reported before), else English. Throws only `StoreError`.
   */
  languageOf(userId: string, wanted?: string): Promise<string>;
  /** The language of someone who is not known yet: that of the setting, else the one they want, else English. */
  ofStranger(wanted?: string): string;
  /** Stores what a person's platform reports, for messages that are not a reply. Throws only `StoreError`. */
  notePlatform(userId: string, wanted: string | undefined): Promise<void>;
  /** Stores a person's choice; undefined removes it. Throws only `StoreError`. */
  choose(userId: string, language: string | undefined): Promise<void>;
  /** Whether that person has chosen. Throws only `StoreError`. */
  hasChosen(userId: string): Promise<boolean>;
}

/** The part that channels need. */
export type ChannelLanguages = Pick<PersonLanguages, 'codes' | 'say' | 'languageOf'>;

/** What the page needs, where people also choose their language. */
export type PageLanguages = ChannelLanguages & Pick<PersonLanguages, 'ofStranger' | 'choose' | 'hasChosen'>;

/**
 * Words texts for a person; while their choice cannot be read, in the language that their platform reports. Never
 * throws.
 */
export async function sayToPerson(
  languages: ChannelLanguages,
  userId: string,
  preference?: string,
): Promise<Say> {
  try {
    return languages.say(recipientOf(userId, await languages.languageOf(userId, preference)));
  } catch {
    // The database is unreachable, which is usually what the text is about.
    const language = preference === undefined ? undefined : bestLanguage(preference, languages.codes());
    return languages.say(recipientOf(userId, language));
  }
}

/**
 * The first of the wanted languages that is available: a tag such as `de-AT`, or a list in the form of the header
 * `Accept-Language`. A tag matches its own file, its language, or another variety of that. Undefined when there is
 * none. Never throws.
 */
export function bestLanguage(preference: string, codes: readonly string[]): string | undefined {
  const tags = preference
    .slice(0, MAX_WANTED_CHARS)
    .split(',')
    .map((part, nth) => {
      const [tag = '', ...parameters] = part.split(';').map((one) => one.trim());
      const weight = parameters.find((one) => one.startsWith('q='))?.slice(2) ?? '1';
      return { tag: tag.toLowerCase(), weight: Number(weight), nth };
    })
    .filter(({ tag, weight }) => tag !== '' && weight > 0)
    .toSorted((a, b) => b.weight - a.weight || a.nth - b.nth);
  for (const { tag } of tags) {
    const [language] = tag.split('-');
    const match =
      codes.find((code) => code.toLowerCase() === tag) ??
      codes.find((code) => code.toLowerCase() === language) ??
      codes.find((code) => code.toLowerCase().split('-')[0] === language);
    if (match !== undefined) return match;
  }
  return undefined;
}
