/** What Telegram shows of the bot before anybody writes: its menus of commands, and what it says of itself. */
import type { CommandListing } from '../../src/contracts/command.ts';
import type { BotApi } from './bot-api.ts';
import { toMenu } from './menu.ts';
import type { MenuCommand } from './menu.ts';

/** Shown in an empty chat (at most 512 characters), and on the bot's profile (120), where nobody has set another text. */
const DESCRIPTION =
  'Write to me as you would to a person, and I answer right here. If I do not know you yet, my first answer says what to do.';
const SHORT_DESCRIPTION = 'A personal assistant, run by whoever gave you this address.';

/** Brings it up to date; what is right already is not written again. Throws `ChannelError`. */
export async function introduce(bot: BotApi, commands: readonly CommandListing[]): Promise<void> {
  await offer(bot, 'default', toMenu(commands));
  const inPrivate = commands.filter(({ place }) => place !== 'group');
  await offer(bot, 'all_private_chats', toMenu(inPrivate));
  await describe(bot);
}

async function offer(
  bot: BotApi,
  type: 'default' | 'all_private_chats',
  menu: readonly MenuCommand[],
): Promise<void> {
  const scope = { type };
  const shown = await bot.call('getMyCommands', (api, limit) => api.getMyCommands({ scope }, limit));
  const pairs = (list: readonly MenuCommand[]) =>
    list.map(({ command, description }) => [command, description]);
  if (JSON.stringify(pairs(shown)) === JSON.stringify(pairs(menu))) return;
  await bot.call('setMyCommands', (api, limit) => api.setMyCommands([...menu], { scope }, limit));
}

/** What an operator has written at @BotFather stays. */
async function describe(bot: BotApi): Promise<void> {
  const long = await bot.call('getMyDescription', (api, limit) => api.getMyDescription({}, limit));
  if (long.description === '')
    await bot.call('setMyDescription', (api, limit) => api.setMyDescription(DESCRIPTION, {}, limit));
  const short = await bot.call('getMyShortDescription', (api, limit) => api.getMyShortDescription({}, limit));
  if (short.short_description === '')
    await bot.call('setMyShortDescription', (api, limit) =>
      api.setMyShortDescription(SHORT_DESCRIPTION, {}, limit),
    );
}
