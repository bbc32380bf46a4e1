/** The gateway's commands as Telegram's menu shows them. Pure. */
import type { CommandListing } from '../../src/protocol/command.ts';
import type { Languages } from '../../src/protocol/texts/languages.ts';
import { inEnglish, type Say } from '../../src/protocol/texts/say.ts';

/** Telegram's limits for `setMyCommands`: commands in all, and characters of a description. */
const MAX_COMMANDS = 100;
const MAX_DESCRIPTION = 256;
const NAME = /^[a-z0-9_]{1,32}$/;

/** A row of the menu. */
export interface MenuCommand {
  command: string;
  description: string;
  /** The command message is hidden, too: only its sender and the bot see it. */
  is_ephemeral?: true;
}

/** A language of the menus: '' for everyone who reads none of the others, else two letters (ISO 639-1). */
export interface MenuLanguage {
  code: string;
  say: Say;
}

/** Maximum number of menu languages: each one costs some calls at startup. */
export const MAX_LANGUAGES = 10;

/** The languages that Telegram distinguishes; of several variants of a language, the first. */
export function menuLanguages(languages: Languages): readonly [MenuLanguage, ...MenuLanguage[]] {
  const found = new Map<string, MenuLanguage>();
  for (const code of languages.codes()) {
    const [language = ''] = code.split('-');
    if (language === 'en' || language.length !== 2 || found.has(language)) continue;
    found.set(language, { code: language, say: languages.say({ language: code, channel: 'telegram' }) });
  }
  return [{ code: '', say: inEnglish }, ...[...found.values()].slice(0, MAX_LANGUAGES - 1)];
}

/**
 * The rows that Telegram accepts, in the order of the list; one refused name would cost the whole menu. `hides` is
 * for groups.
 */
export function toMenu(commands: readonly CommandListing[], say: Say, hides: boolean): MenuCommand[] {
  return commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MAX_COMMANDS)
    .map(({ name, about, description, personal }) => ({
      command: name,
      description: (about === undefined ? description : say(about)).slice(0, MAX_DESCRIPTION).toWellFormed(),
      ...(hides && personal && { is_ephemeral: true as const }),
    }));
}
