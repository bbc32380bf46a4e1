/** Notices where the bot may not write: users are not left without an answer and without a reason. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_QUESTIONS, MutedNotice } from '../../../../channels/discord/reactions.ts';
import type { FakeChannel, FakeMessage } from '../../../fakes/discord/platform.ts';
import { restOf } from '../../../fakes/discord/partial.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { failureOf } from '../../../fakes/gateway/channel-setup.ts';
import pino from 'pino';
import { builtInLanguages } from '../../../fakes/gateway/languages.ts';

const WAIT = { timeout: 5_000, interval: 5 };

describe('a question where the bot may not write', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let question: FakeMessage;

  beforeEach(async () => {
    setup = await DiscordSetup.open();
    room = setup.discord.platform.addChannel(0, { forbidden: true });
    await setup.start();
    question = setup.discord.says(room, 'anybody?', setup.discord.person('Ada'), { mention: true });
    await vi.waitUntil(() => setup.received.length === 1, WAIT);
  });
  afterEach(async () => {
    await setup.close();
  });

  const refused = async (): Promise<void> => {
    const failure = await failureOf(setup.channel.send(setup.part(room.id, 'x')));
    expect(failure).toMatchObject({ code: 'blocked', retryable: true });
  };

  it('gets a reaction, only for the first refusal, even if that was of typing', async () => {
    await failureOf(setup.channel.typing?.({ channel: 'discord', chatId: room.id }));
    await vi.waitFor(() => expect(question.reactions).toEqual(['🔇']), WAIT);
    await refused();
    await refused();
    const reactions = setup.discord.rest.calls.filter((call) => call.startsWith('PUT /channels'));
    expect(reactions).toHaveLength(1);
  });

  it('is explained in a direct message if the bot may not react either', async () => {
    room.noReactions = true;
    await refused();
    const direct = (): string[] =>
      [...setup.discord.platform.channels.values()]
        .filter(({ type }) => type === 1)
        .flatMap((channel) => setup.discord.screen(channel));
    await vi.waitFor(() => expect(direct()).toEqual([expect.stringContaining('Send Messages')]), WAIT);
  });

  it('is forgotten in favor of the newest questions of other channels', async () => {
    const paths: string[] = [];
    const notice = new MutedNotice(
      restOf(({ path }) => {
        paths.push(path);
        return Promise.resolve(undefined);
      }),
      pino({ level: 'silent' }),
      builtInLanguages,
    );
    for (let n = 0; n <= MAX_QUESTIONS; n += 1)
      notice.remember(`${n}`, { messageId: `9${n}`, senderId: '1' });
    await notice.show('0');
    await notice.show('1');
    expect(paths).toHaveLength(1);
    expect(paths[0]).toContain('/channels/1/messages/91/');
  });
});
