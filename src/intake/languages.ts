/** Which language each person reads: by choice, by the setting, or as their platform reports. */
import type { ChatSettingStore } from '../protocol/channel.ts';
import {
  AUTO,
  bestLanguage,
  LANGUAGE_SETTING,
  type Languages,
  MAX_WANTED_CHARS,
  type PersonLanguages,
  PLATFORM_LANGUAGE,
  recipientOf,
} from '../protocol/texts/languages.ts';
import type { SessionKey } from '../protocol/message.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import type { Command } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';
import { namesLike } from '../lib/text.ts';

/** How long a person's stored language is cached: after that, a choice made on another node takes effect. */
export const KEPT_MS = 30_000;
/** People whose language this process caches. */
const MAX_PEOPLE = 10_000;
/** How long a platform's report counts after the person's last message, in milliseconds. */
const PLATFORM_KEPT_MS = 365 * 86_400_000;

export interface PersonLanguagesDeps {
  languages: Languages;
  setting: () => string;
  chatSettings: ChatSettingStore;
  /** The user id of an HTTP session's owner, which is the address of notices there. Throws `StoreError`. */
  ownerOf: (session: SessionKey) => Promise<string | undefined>;
  monotonicNow: () => number;
}

function isHttpSession(address: string): address is SessionKey {
  return address.startsWith('http:');
}

interface StoredLanguages {
  chosen: string | undefined;
  platform: string | undefined;
}

/** Makes `PersonLanguages`. */
export function createPersonLanguages(deps: PersonLanguagesDeps): PersonLanguages {
  const { languages, chatSettings, setting } = deps;
  const people = new TtlCache<StoredLanguages>(KEPT_MS, MAX_PEOPLE, deps.monotonicNow);
  const storedLanguages = async (userId: string): Promise<StoredLanguages> => {
    const cached = people.get(userId);
    if (cached !== undefined) return cached;
    const reader = isHttpSession(userId) ? ((await deps.ownerOf(userId)) ?? userId) : userId;
    const [choice, platform] = await Promise.all([
      chatSettings.chatSetting(reader, LANGUAGE_SETTING),
      chatSettings.chatSetting(reader, PLATFORM_LANGUAGE),
    ]);
    const languagesOfPerson = { chosen: choice, platform };
    people.set(userId, languagesOfPerson);
    return languagesOfPerson;
  };
  const exists = (code: string | undefined): code is string =>
    code !== undefined && languages.codes().includes(code);
  const ofStranger = (preference?: string): string => {
    const everybody = setting();
    if (everybody !== AUTO) return exists(everybody) ? everybody : 'en';
    return (preference === undefined ? undefined : bestLanguage(preference, languages.codes())) ?? 'en';
  };
  return {
    codes: () => languages.codes(),
    say: (to) => languages.say(to),
    ofStranger,
    async languageOf(userId, preference) {
      const { chosen: choice, platform } = await storedLanguages(userId);
      return exists(choice) ? choice : ofStranger(preference ?? platform);
    },
    async notePlatform(userId, preference) {
      const language = preference?.slice(0, MAX_WANTED_CHARS);
      const current = await storedLanguages(userId);
      if (language === undefined || language === current.platform) return;
      people.set(userId, { ...current, platform: language });
      await chatSettings.setChatSetting(userId, PLATFORM_LANGUAGE, language, PLATFORM_KEPT_MS);
    },
    async choose(userId, language) {
      await chatSettings.setChatSetting(userId, LANGUAGE_SETTING, language);
      people.delete(userId);
    },
    async hasChosen(userId) {
      return exists((await storedLanguages(userId)).chosen);
    },
  };
}

/** Makes the command. It throws `GatewayError('unknown_language')`. */
export function languageCommand(languages: PersonLanguages): Command {
  return {
    name: 'language',
    description: 'about.language',
    argument: {
      name: 'language',
      label: 'word.language',
      description: 'argument.language',
      required: false,
      suggests: true,
    },
    suggest: ({ args }) => Promise.resolve(namesLike(args, [AUTO, ...languages.codes()])),
    async run({ args, userId, address, say }) {
      if (args === '') {
        const isOwn = await languages.hasChosen(userId);
        const now = say(isOwn ? 'language.now' : 'language.now_auto', spoken(say));
        return `${now}\n${say('language.others', { languages: listed(languages) })}`;
      }
      if (args.toLowerCase() === AUTO) {
        await languages.choose(userId, undefined);
        const next = languages.say(recipientOf(address, await languages.languageOf(userId)));
        return next('language.auto', { name: spoken(next).name });
      }
      const code = languageNamed(args, languages);
      if (code === undefined)
        throw new GatewayError(
          'unknown_language',
          textRef('language.unknown', { name: args.slice(0, 40), languages: listed(languages) }),
        );
      await languages.choose(userId, code);
      const next = languages.say(recipientOf(address, code));
      return next('language.changed', { name: spoken(next).name });
    },
  };
}

/** The code of a language that someone names by its code, or by its name in any of the languages. */
function languageNamed(text: string, languages: PersonLanguages): string | undefined {
  const name = text.toLowerCase();
  const codes = languages.codes();
  const isName = (code: string): boolean =>
    codes.some((reader) => nameOf(code, reader).toLowerCase() === name);
  return codes.find(isName) ?? (/^[a-z-]{2,11}$/.test(name) ? bestLanguage(name, codes) : undefined);
}

function spoken({ language }: Say): { name: string; code: string } {
  return { name: nameOf(language, language), code: language };
}

/** `en (English), de (Deutsch)`. */
function listed(languages: PersonLanguages): string {
  return languages
    .codes()
    .map((code) => `${code} (${nameOf(code, code)})`)
    .join(', ');
}

function nameOf(code: string, reader: string): string {
  return new Intl.DisplayNames([reader], { type: 'language', fallback: 'code' }).of(code) ?? code;
}
