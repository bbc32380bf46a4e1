/** What Telegram shows of the bot before anyone writes to it: its command menus, its menu button, and its descriptions. */
import type { BotCommandScope, LanguageCode } from 'grammy/types';
import type { CommandListing } from '../../src/protocol/command.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { ChatSettingStore } from '../../src/protocol/channel.ts';
import type { Languages } from '../../src/protocol/texts/languages.ts';
import type { PlainKey } from '../../src/protocol/texts/say.ts';
import type { BotApi } from './api/bot-api.ts';
import { type MenuCommand, type MenuLanguage, menuLanguages, toMenu } from './menu.ts';

/** Maximum number of owners who get a menu of their own; the commands work for the others, too. */
export const MAX_OWNER_MENUS = 20;

/** Longest texts that Telegram accepts: in an empty chat, and on the bot's profile. */
const MAX_DESCRIPTION = 512;
const MAX_SHORT_DESCRIPTION = 120;

export interface IntroductionDeps {
  bot: Pick<BotApi, 'call'>;
  commands: readonly CommandListing[];
  languages: Languages;
  /** Current ids of the owners. Throws `GatewayError`. */
  owners: () => Promise<readonly string[]>;
  chatSettings: ChatSettingStore;
  log: Log;
}

/** Keeps it up to date; does not rewrite what is already right. */
export class Introduction {
  readonly #deps: IntroductionDeps;
  /** The owners at the last update. */
  #owners: string | undefined;

  constructor(deps: IntroductionDeps) {
    this.#deps = deps;
  }

  /**
   * Updates at the first call, and when the owners have changed since the last one. `botId` is the bot's own. Never
   * throws.
   */
  async update(botId: string): Promise<void> {
    const { owners: ownersNow, log } = this.#deps;
    try {
      const owners = (await ownersNow()).slice(0, MAX_OWNER_MENUS);
      const known = JSON.stringify(owners);
      if (known === this.#owners) return;
      const isFirst = this.#owners === undefined;
      this.#owners = known;
      if (isFirst) await this.#offerToAll(`telegram:${botId}`);
      await this.#offerToOwners(`telegram:${botId}`, owners);
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'telegram_introduction_incomplete');
    }
  }

  async #offerToAll(bot: `telegram:${string}`): Promise<void> {
    const { commands } = this.#deps;
    const forAll = commands.filter(({ owners }) => owners !== true);
    await this.#offer({ type: 'default' }, forAll);
    await this.#offer({ type: 'all_private_chats' }, forAll.filter(isPrivate));
    await this.#offer({ type: 'all_group_chats' }, forAll);
    await this.#showMenuButton();
    await this.#describe(bot);
  }

  /** Commands that only owners can use appear only in the owners' menus. */
  async #offerToOwners(bot: `telegram:${string}`, owners: readonly string[]): Promise<void> {
    const { chatSettings, commands, bot: api, log } = this.#deps;
    const before = (await chatSettings.chatSetting(bot, 'owner_menus'))?.split(' ') ?? [];
    const given: string[] = [];
    for (const owner of owners) {
      const scope = { type: 'chat', chat_id: Number(owner) } as const;
      // Telegram has no menu for a person who has never written to the bot.
      const isShown = await this.#offer(scope, commands.filter(isPrivate)).then(
        () => true,
        (error: unknown) => {
          log.info({ err: toGatewayError(error), owner }, 'telegram_owner_menu_not_shown');
          return false;
        },
      );
      if (isShown) given.push(owner);
    }
    for (const former of before.filter((one) => one !== '' && !owners.includes(one)))
      for (const { code } of this.#languages()) {
        const scope = { type: 'chat', chat_id: Number(former) } as const;
        await api.call('deleteMyCommands', (call, limit) =>
          call.deleteMyCommands({ scope, ...languageOf(code) }, limit),
        );
      }
    await chatSettings.setChatSetting(bot, 'owner_menus', given.join(' '));
  }

  async #offer(scope: BotCommandScope, commands: readonly CommandListing[]): Promise<void> {
    const { bot } = this.#deps;
    for (const { code, say } of this.#languages()) {
      const menu = toMenu(commands, say, scope.type === 'all_group_chats');
      const place = { scope, ...languageOf(code) };
      const shown = await bot.call('getMyCommands', (api, limit) => api.getMyCommands(place, limit));
      if (JSON.stringify(shown.map(rowOf)) === JSON.stringify(menu.map(rowOf))) continue;
      await bot.call('setMyCommands', (api, limit) => api.setMyCommands([...menu], place, limit));
    }
  }

  /** The button beside the message field opens the menu; a button that an operator has set stays. */
  async #showMenuButton(): Promise<void> {
    const { bot } = this.#deps;
    const now = await bot.call('getChatMenuButton', (api, limit) => api.getChatMenuButton({}, limit));
    if (now.type !== 'default') return;
    await bot.call('setChatMenuButton', (api, limit) =>
      api.setChatMenuButton({ menu_button: { type: 'commands' } }, limit),
    );
  }

  async #describe(bot: `telegram:${string}`): Promise<void> {
    const { bot: calls } = this.#deps;
    await this.#say(bot, 'bot.description', MAX_DESCRIPTION, {
      now: async (language) =>
        (await calls.call('getMyDescription', (api, limit) => api.getMyDescription(language, limit)))
          .description,
      set: async (text, language) =>
        void (await calls.call('setMyDescription', (api, limit) =>
          api.setMyDescription(text, language, limit),
        )),
    });
    await this.#say(bot, 'bot.short_description', MAX_SHORT_DESCRIPTION, {
      now: async (language) =>
        (
          await calls.call('getMyShortDescription', (api, limit) =>
            api.getMyShortDescription(language, limit),
          )
        ).short_description,
      set: async (text, language) =>
        void (await calls.call('setMyShortDescription', (api, limit) =>
          api.setMyShortDescription(text, language, limit),
        )),
    });
  }

  /** A text that an operator has set at @BotFather stays; one of ours is kept up to date. */
  async #say(bot: `telegram:${string}`, key: PlainKey, most: number, calls: DescriptionCalls): Promise<void> {
    const { chatSettings } = this.#deps;
    const kept = (code: string) => chatSettings.chatSetting(bot, `${key} ${code}`);
    const [english] = this.#languages();
    const ours = new Set(['', english.say(key), await kept('')]);
    for (const { code, say } of this.#languages()) {
      const text = say(key).slice(0, most).toWellFormed();
      const now = await calls.now(languageOf(code));
      // Telegram may return the text for all languages if there is none in the requested language.
      if (now === text || (!ours.has(now) && now !== (await kept(code)))) continue;
      await calls.set(text, languageOf(code));
      await chatSettings.setChatSetting(bot, `${key} ${code}`, text);
    }
  }

  #languages(): readonly [MenuLanguage, ...MenuLanguage[]] {
    return menuLanguages(this.#deps.languages);
  }
}

interface DescriptionCalls {
  now: (language: { language_code?: LanguageCode }) => Promise<string>;
  set: (text: string, language: { language_code?: LanguageCode }) => Promise<void>;
}

function isPrivate({ place }: CommandListing): boolean {
  return place !== 'group';
}

function rowOf({ command, description, is_ephemeral: hidden = false }: Listed): unknown[] {
  return [command, description, hidden];
}

type Listed = Pick<MenuCommand, 'command' | 'description'> & { is_ephemeral?: boolean };

/** Everyone whose language has no text gets the English one. */
function languageOf(code: string): { language_code?: LanguageCode } {
  return code === '' ? {} : { language_code: code as LanguageCode };
}
