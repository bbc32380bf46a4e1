/** Which language each person reads: by choice, by the setting, or as their platform reports. */
import type { ChatSettingStore } from '../../protocol/channel.ts';
import {
  AUTO,
  bestLanguage,
  LANGUAGE_SETTING,
  type Languages,
  MAX_WANTED_CHARS,
  type PersonLanguages,
  PLATFORM_LANGUAGE,
} from '../../protocol/texts/languages.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { Recent } from '../../lib/recent.ts';

/** How long a person's stored language is cached: after that, a choice made on another node takes effect. */
export const KEPT_MS = 30_000;
/** People whose language this process caches. */
const MAX_PEOPLE = 10_000;
/** How long a platform's report counts after the person's last message, in milliseconds. */
const PLATFORM_KEPT_MS = 365 * 86_400_000;

export interface PersonLanguagesDeps {
  languages: Languages;
  /** The setting `language`. */
  setting: () => string;
  chatSettings: ChatSettingStore;
  /** The user id of an HTTP session's owner, which is the address of notices there. Throws `StoreError`. */
  ownerOf: (session: SessionKey) => Promise<string | undefined>;
  /** Monotonic milliseconds. */
  monotonicNow: () => number;
}

function isHttpSession(address: string): address is SessionKey {
  return address.startsWith('http:');
}

interface Known {
  chosen: string | undefined;
  platform: string | undefined;
}

/** Makes `PersonLanguages`. */
export function createPersonLanguages(deps: PersonLanguagesDeps): PersonLanguages {
  const { languages, chatSettings, setting } = deps;
  const people = new Recent<Known>(KEPT_MS, MAX_PEOPLE, deps.monotonicNow);
  const known = async (userId: string): Promise<Known> => {
    const cached = people.get(userId);
    if (cached !== undefined) return cached;
    const reader = isHttpSession(userId) ? ((await deps.ownerOf(userId)) ?? userId) : userId;
    const [chosen, platform] = await Promise.all([
      chatSettings.chatSetting(reader, LANGUAGE_SETTING),
      chatSettings.chatSetting(reader, PLATFORM_LANGUAGE),
    ]);
    const found = { chosen, platform };
    people.set(userId, found);
    return found;
  };
  const isThere = (code: string | undefined): code is string =>
    code !== undefined && languages.codes().includes(code);
  const ofStranger = (wanted?: string): string => {
    const everybody = setting();
    if (everybody !== AUTO) return isThere(everybody) ? everybody : 'en';
    return (wanted === undefined ? undefined : bestLanguage(wanted, languages.codes())) ?? 'en';
  };
  return {
    codes: () => languages.codes(),
    say: (to) => languages.say(to),
    ofStranger,
    async languageOf(userId, wanted) {
      const { chosen, platform } = await known(userId);
      return isThere(chosen) ? chosen : ofStranger(wanted ?? platform);
    },
    async notePlatform(userId, wanted) {
      const language = wanted?.slice(0, MAX_WANTED_CHARS);
      const before = await known(userId);
      if (language === undefined || language === before.platform) return;
      people.set(userId, { ...before, platform: language });
      await chatSettings.setChatSetting(userId, PLATFORM_LANGUAGE, language, PLATFORM_KEPT_MS);
    },
    async choose(userId, language) {
      await chatSettings.setChatSetting(userId, LANGUAGE_SETTING, language);
      people.delete(userId);
    },
    async hasChosen(userId) {
      return isThere((await known(userId)).chosen);
    },
  };
}
