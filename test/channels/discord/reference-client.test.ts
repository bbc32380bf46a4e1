/** The fake Discord is real enough for discord.js's own client: no home-made dialect is tested against. */
import { once } from 'node:events';
import { Client, DiscordAPIError, Events, GatewayIntentBits, Partials } from 'discord.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeDiscord } from '../../fakes/discord/discord.ts';

describe('a bot of discord.js', () => {
  let discord: FakeDiscord;
  let bot: Client;

  beforeEach(async () => {
    discord = await FakeDiscord.open({ identifySpacingMs: 0 });
    bot = new Client({
      intents: [
        GatewayIntentBits.DirectMessages,
        GatewayIntentBits.GuildMessages,
        GatewayIntentBits.MessageContent,
      ],
      // A private chat is known only from its first message.
      partials: [Partials.Channel],
      rest: { api: discord.apiRoot, version: '10' },
      waitGuildTimeout: 0,
    });
    const ready = once(bot, Events.ClientReady);
    await bot.login(discord.token);
    await ready;
  });

  afterEach(async () => {
    await bot.destroy();
    await discord.close();
  });

  it('logs in, reads what a user writes, replies, edits its reply and deletes it', async () => {
    const { channel, person } = discord.dm();
    const heard = once(bot, Events.MessageCreate);
    discord.says(channel, 'What time is it?', person);
    const [question] = await heard;
    expect(question).toMatchObject({ content: 'What time is it?', author: { id: person.id, bot: false } });
    const reply = await question.reply('One moment…');
    expect(reply).toMatchObject({ content: 'One moment…', reference: { messageId: question.id } });
    const edited = await reply.edit('It is **noon**.');
    expect(edited.content).toBe('It is **noon**.');
    expect(discord.screen(channel)).toEqual(['What time is it?', 'It is noon.']);
    await reply.delete();
    expect(discord.screen(channel)).toEqual(['What time is it?']);
  });

  it('gets the platform’s refusals, with the platform’s codes', async () => {
    const { channel, person } = discord.dm();
    const heard = once(bot, Events.MessageCreate);
    discord.says(channel, 'Hello.', person);
    const [question] = await heard;
    const refused = question.reply('x'.repeat(2_001));
    await expect(refused).rejects.toBeInstanceOf(DiscordAPIError);
    await expect(refused).rejects.toMatchObject({ code: 50_035, status: 400 });
  });
});
