/** The bot's menus and what it says about itself, in every language, written only if they have changed. */
import { describe, expect, it } from 'vitest';
import { BotApi, CALL_TIMEOUT_MS } from '../../../channels/telegram/bot-api.ts';
import {
  Introduction,
  MAX_LANGUAGES,
  MAX_OWNER_MENUS,
  menuLanguages,
} from '../../../channels/telegram/introduction.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import { inEnglish, sayFrom } from '../../../src/protocol/texts/say.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { memoryStores } from '../../fakes/stores/channel-stores.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';
import { FAKE_BOT, FAKE_TOKEN, type FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { telegramDeps } from './setup.ts';
import { startFake } from './started.ts';

const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'Stop', about: 'about.stop' },
  { name: 'observe', description: 'Read along', place: 'group', owners: true },
  { name: 'trust', description: 'Trust', about: 'about.trust', owners: true },
];
const ENGLISH = inEnglish('about.stop');
const GERMAN = builtInLanguages.say({ language: 'de' })('about.stop');

/** Calls that change the bot's introduction. */
const WRITES = [
  'setMyCommands',
  'deleteMyCommands',
  'setMyDescription',
  'setMyShortDescription',
  'setChatMenuButton',
];
const writes = (fake: FakeTelegram): number => WRITES.reduce((sum, method) => sum + fake.count(method), 0);

/** The introduction of a bot with these owners, as at a start of the gateway. */
function introduce(
  fake: FakeTelegram,
  owners: () => string[] = () => [],
  chatSettings = memoryStores().chatSettings,
  pageUrl?: string,
) {
  const bot = new BotApi({
    token: FAKE_TOKEN,
    apiRoot: fake.root,
    callTimeoutMs: CALL_TIMEOUT_MS,
    clock: systemClock,
  });
  const deps = telegramDeps();
  const gateway = { ...deps.gateway, commands: COMMANDS };
  const parts = { ...deps, gateway, owners: async () => owners(), chatSettings };
  const introduction = new Introduction(bot, parts, pageUrl);
  return async () => await introduction.update(String(FAKE_BOT.id));
}

const names = (fake: FakeTelegram, scope: string): unknown[] =>
  fake.introduction.commandsOf(scope).map((entry) => (entry as { command: string }).command);

describe('the introduction of the bot', () => {
  it('has a menu for everyone and one for private chats, in English and German', async () => {
    const fake = await startFake();
    await introduce(fake)();
    for (const scope of ['default', 'all_private_chats']) {
      expect(fake.introduction.commandsOf(scope)).toEqual([{ command: 'stop', description: ENGLISH }]);
      expect(fake.introduction.commandsOf(`${scope} de`)).toEqual([{ command: 'stop', description: GERMAN }]);
    }
    expect(GERMAN).not.toBe(ENGLISH);
    expect(fake.introduction.menuButton).toEqual({ type: 'commands' });
    expect([...fake.introduction.texts.keys()].toSorted()).toEqual([
      'description',
      'description de',
      'short',
      'short de',
    ]);
  });

  it('writes nothing again at a later start', async () => {
    const fake = await startFake();
    const { chatSettings } = memoryStores();
    fake.chats.open('7');
    await introduce(fake, () => ['7'], chatSettings)();
    const before = writes(fake);
    await introduce(fake, () => ['7'], chatSettings)();
    expect(writes(fake)).toBe(before);
  });

  it('leaves alone what an operator has set', async () => {
    const fake = await startFake();
    fake.introduction.texts.set('description', 'Ours.');
    const button = { type: 'web_app', text: 'Shop', web_app: { url: 'https://shop.example.org/' } };
    fake.introduction.menuButton = button;
    await introduce(fake)();
    expect(fake.introduction.texts.get('description')).toBe('Ours.');
    expect(fake.introduction.texts.has('description de')).toBe(false);
    await introduce(fake, undefined, undefined, 'https://chat.example.org/')();
    expect(fake.introduction.menuButton).toEqual(button);
  });

  it('has a button that opens the page if the settings name its address, and the menu again without it', async () => {
    const fake = await startFake();
    const { chatSettings } = memoryStores();
    for (const url of ['https://chat.example.org/', 'https://other.example.org/']) {
      await introduce(fake, undefined, chatSettings, url)();
      const button = { type: 'web_app', text: 'Chat page', web_app: { url: `${url}?framed=1` } };
      expect(fake.introduction.menuButton).toEqual(button);
    }
    const before = writes(fake);
    await introduce(fake, undefined, chatSettings, 'https://other.example.org/')();
    expect(writes(fake)).toBe(before);
    await introduce(fake, undefined, chatSettings)();
    expect(fake.introduction.menuButton).toEqual({ type: 'commands' });
  });

  it('updates its own texts', async () => {
    const fake = await startFake();
    const { chatSettings } = memoryStores();
    const bot = `telegram:${FAKE_BOT.id}`;
    fake.introduction.texts.set('short', 'As an earlier version said.');
    await chatSettings.setChatSetting(bot, 'bot.short_description ', 'As an earlier version said.');
    await introduce(fake, () => [], chatSettings)();
    expect(fake.introduction.texts.get('short')).toBe(inEnglish('bot.short_description'));
  });

  it('shows commands for owners only in the chats of owners, including those who become one later', async () => {
    const fake = await startFake();
    for (const chat of ['7', '8']) fake.chats.open(chat);
    let owners = ['7'];
    const update = introduce(fake, () => owners);
    await update();
    expect(names(fake, 'chat 7')).toEqual(['stop', 'trust']);
    expect(names(fake, 'chat 7 de')).toEqual(['stop', 'trust']);
    owners = ['8'];
    await update();
    expect(names(fake, 'chat 8')).toEqual(['stop', 'trust']);
    expect([names(fake, 'chat 7'), names(fake, 'chat 7 de')]).toEqual([[], []]);
    const before = fake.count('getMyCommands');
    await update();
    expect(fake.count('getMyCommands')).toBe(before);
  });

  it('continues with the other owners if one has never written to the bot', async () => {
    const fake = await startFake();
    fake.chats.open('8');
    await introduce(fake, () => ['7', '8'])();
    expect(names(fake, 'chat 8')).toEqual(['stop', 'trust']);
  });

  it(`gives the first ${MAX_OWNER_MENUS} owners their own menu`, async () => {
    const fake = await startFake();
    const owners = Array.from({ length: MAX_OWNER_MENUS + 1 }, (_, at) => String(100 + at));
    for (const owner of owners) fake.chats.open(owner);
    await introduce(fake, () => owners)();
    expect(names(fake, `chat ${99 + MAX_OWNER_MENUS}`)).not.toEqual([]);
    expect(names(fake, `chat ${100 + MAX_OWNER_MENUS}`)).toEqual([]);
  });
});

it('distinguishes the languages that Telegram does, up to a maximum', () => {
  const codes = ['en', 'de', 'pt-BR', 'pt', 'yue', ...Array.from('abcdefghijklm', (one) => `${one}${one}`)];
  const languages = menuLanguages({
    codes: () => codes,
    say: ({ language = 'en' }) => sayFrom(language, {}),
  });
  expect(languages.slice(0, 3).map(({ code }) => code)).toEqual(['', 'de', 'pt']);
  expect(languages).toHaveLength(MAX_LANGUAGES);
});
