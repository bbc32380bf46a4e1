/** What Telegram shows of the bot before anyone writes to it: its command menus, its menu button, and its descriptions. */
import type { BotCommand, BotCommandScope, LanguageCode } from 'grammy/types';
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import type { CommandListing } from '../../src/protocol/command.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Languages } from '../../src/protocol/texts/languages.ts';
import { inEnglish, type PlainKey, type Say } from '../../src/protocol/texts/say.ts';
import type { BotApi } from './bot-api.ts';
import { framedPage } from './mini-app.ts';

/** Telegram's limits for `setMyCommands`: commands in all, and characters of a description. */
const MAX_COMMANDS = 100;
const MAX_MENU_DESCRIPTION = 256;
const NAME = /^[a-z0-9_]{1,32}$/;

/** A language of the menus: '' for everyone who reads none of the others, else two letters (ISO 639-1). */
interface MenuLanguage {
  code: string;
  say: Say;
}

/** Maximum number of menu languages: each one costs some calls at startup. */
export const MAX_LANGUAGES = 10;
/** Maximum number of owners who get a menu of their own; the commands work for the others, too. */
export const MAX_OWNER_MENUS = 20;
/** Longest texts that Telegram accepts: in an empty chat, and on the bot's profile. */
const MAX_DESCRIPTION = 512;
const MAX_SHORT_DESCRIPTION = 120;

/** The name under which the address in the menu button is stored, to tell it from one that an operator has set. */
const PAGE = 'menu_page';

/** Keeps it up to date; does not rewrite what is already right. */
export class Introduction {
  readonly #bot: BotApi;
  readonly #deps: ChannelDeps;
  readonly #pageUrl: string | undefined;
  /** The owners at the last update, as JSON. */
  #owners: string | undefined;

  /** `pageUrl`: the address of the page that the menu button opens, if it does. */
  constructor(bot: BotApi, deps: ChannelDeps, pageUrl?: string) {
    this.#pageUrl = pageUrl === undefined ? undefined : framedPage(pageUrl);
    this.#bot = bot;
    this.#deps = deps;
  }

  /** Updates at the first call, and when the owners have changed. `botId` is the bot's own. Never throws. */
  async update(botId: string): Promise<void> {
    const bot = `telegram:${botId}`;
    try {
      const owners = (await this.#deps.owners()).slice(0, MAX_OWNER_MENUS);
      const json = JSON.stringify(owners);
      if (json === this.#owners) return;
      const isFirst = this.#owners === undefined;
      this.#owners = json;
      if (isFirst) await this.#offerToAll(bot);
      await this.#offerToOwners(bot, owners);
    } catch (error) {
      this.#deps.log.warn({ err: toGatewayError(error) }, 'telegram_introduction_incomplete');
    }
  }

  async #offerToAll(bot: string): Promise<void> {
    const forAll = this.#deps.gateway.commands.filter(({ owners }) => owners !== true);
    await this.#offer({ type: 'default' }, forAll);
    await this.#offer({ type: 'all_private_chats' }, forAll.filter(isPrivate));
    await this.#offer({ type: 'all_group_chats' }, forAll);
    await this.#showMenuButton(bot);
    await this.#describe(bot);
  }

  /** Commands that only owners can use appear only in the owners' menus. */
  async #offerToOwners(bot: string, owners: readonly string[]): Promise<void> {
    const { chatSettings, gateway, log } = this.#deps;
    const former = (await chatSettings.chatSetting(bot, 'owner_menus'))?.split(' ') ?? [];
    const withMenu: string[] = [];
    for (const owner of owners) {
      const scope = { type: 'chat', chat_id: Number(owner) } as const;
      // Telegram has no menu for a person who has never written to the bot.
      const isShown = await this.#offer(scope, gateway.commands.filter(isPrivate)).then(
        () => true,
        (error: unknown) => {
          log.info({ err: toGatewayError(error), owner }, 'telegram_owner_menu_not_shown');
          return false;
        },
      );
      if (isShown) withMenu.push(owner);
    }
    for (const formerOwner of former.filter((one) => one !== '' && !owners.includes(one)))
      for (const { code } of this.#languages()) {
        const scope = { type: 'chat', chat_id: Number(formerOwner) } as const;
        await this.#bot.call('deleteMyCommands', (api, limit) =>
          api.deleteMyCommands({ scope, ...languageOf(code) }, limit),
        );
      }
    await chatSettings.setChatSetting(bot, 'owner_menus', withMenu.join(' '));
  }

  async #offer(scope: BotCommandScope, commands: readonly CommandListing[]): Promise<void> {
    for (const { code, say } of this.#languages()) {
      const menu = toMenu(commands, say, scope.type === 'all_group_chats');
      const options = { scope, ...languageOf(code) };
      const current = await this.#bot.call('getMyCommands', (api, limit) =>
        api.getMyCommands(options, limit),
      );
      if (JSON.stringify(current.map(rowOf)) === JSON.stringify(menu.map(rowOf))) continue;
      await this.#bot.call('setMyCommands', (api, limit) => api.setMyCommands(menu, options, limit));
    }
  }

  /** The button beside the message field opens the menu, or the page; a button that an operator has set stays. */
  async #showMenuButton(bot: string): Promise<void> {
    const button = await this.#bot.call('getChatMenuButton', (api, limit) =>
      api.getChatMenuButton({}, limit),
    );
    const { chatSettings } = this.#deps;
    const isOurs =
      button.type === 'web_app' && button.web_app.url === (await chatSettings.chatSetting(bot, PAGE));
    const url = this.#pageUrl;
    const isRight = url === undefined ? button.type === 'commands' : isOurs && button.web_app.url === url;
    if (isRight || (button.type === 'web_app' && !isOurs)) return;
    await chatSettings.setChatSetting(bot, PAGE, url);
    const page = { type: 'web_app', text: inEnglish('bot.page'), web_app: { url: url ?? '' } } as const;
    await this.#bot.call('setChatMenuButton', (api, limit) =>
      api.setChatMenuButton({ menu_button: url === undefined ? { type: 'commands' } : page }, limit),
    );
  }

  async #describe(bot: string): Promise<void> {
    await this.#updateText(
      bot,
      'bot.description',
      MAX_DESCRIPTION,
      async (language) =>
        (await this.#bot.call('getMyDescription', (api, limit) => api.getMyDescription(language, limit)))
          .description,
      (text, language) =>
        this.#bot.call('setMyDescription', (api, limit) => api.setMyDescription(text, language, limit)),
    );
    await this.#updateText(
      bot,
      'bot.short_description',
      MAX_SHORT_DESCRIPTION,
      async (language) =>
        (
          await this.#bot.call('getMyShortDescription', (api, limit) =>
            api.getMyShortDescription(language, limit),
          )
        ).short_description,
      (text, language) =>
        this.#bot.call('setMyShortDescription', (api, limit) =>
          api.setMyShortDescription(text, language, limit),
        ),
    );
  }

  /** A text that an operator has set at @BotFather stays; one of ours is kept up to date. */
  async #updateText(
    bot: string,
    key: PlainKey,
    maxLength: number,
    read: (language: LanguageOption) => Promise<string>,
    write: (text: string, language: LanguageOption) => Promise<unknown>,
  ): Promise<void> {
    const { chatSettings } = this.#deps;
    const lastText = (code: string) => chatSettings.chatSetting(bot, `${key} ${code}`);
    const [english] = this.#languages();
    const ours = new Set(['', english.say(key), await lastText('')]);
    for (const { code, say } of this.#languages()) {
      const text = say(key).slice(0, maxLength).toWellFormed();
      const current = await read(languageOf(code));
      // Telegram may return the text for all languages if there is none in the requested language.
      if (current === text || (!ours.has(current) && current !== (await lastText(code)))) continue;
      await write(text, languageOf(code));
      await chatSettings.setChatSetting(bot, `${key} ${code}`, text);
    }
  }

  #languages(): readonly [MenuLanguage, ...MenuLanguage[]] {
    return menuLanguages(this.#deps.languages);
  }
}

interface LanguageOption {
  language_code?: LanguageCode;
}

function isPrivate({ place }: CommandListing): boolean {
  return place !== 'group';
}

function rowOf({ command, description, is_ephemeral: isHidden = false }: BotCommand): unknown[] {
  return [command, description, isHidden];
}

/** Everyone whose language has no text gets the English one. */
function languageOf(code: string): LanguageOption {
  return code === '' ? {} : { language_code: code as LanguageCode };
}

/** The languages that Telegram distinguishes; of several variants of a language, the first. */
export function menuLanguages(languages: Languages): readonly [MenuLanguage, ...MenuLanguage[]] {
  const menus = new Map<string, MenuLanguage>();
  for (const code of languages.codes()) {
    const [language = ''] = code.split('-');
    if (language === 'en' || language.length !== 2 || menus.has(language)) continue;
    menus.set(language, { code: language, say: languages.say({ language: code, channel: 'telegram' }) });
  }
  return [{ code: '', say: inEnglish }, ...[...menus.values()].slice(0, MAX_LANGUAGES - 1)];
}

/** The rows that Telegram accepts; one refused name would cost the whole menu. `hides` is for groups. */
function toMenu(commands: readonly CommandListing[], say: Say, hides: boolean): BotCommand[] {
  return commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MAX_COMMANDS)
    .map(({ name, about, description, personal }) => ({
      command: name,
      description: (about === undefined ? description : say(about))
        .slice(0, MAX_MENU_DESCRIPTION)
        .toWellFormed(),
      ...(hides && personal && { is_ephemeral: true as const }),
    }));
}
