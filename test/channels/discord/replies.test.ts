/** Replies to slash commands: by the command's token while it is valid, then as messages of the bot. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentMessage } from '../../../src/contracts/message.ts';
import { Refusal } from '../../fakes/discord/platform.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/platform.ts';
import { DiscordSetup } from '../../fakes/discord/setup.ts';
import { ACCEPTED, failureOf } from '../../fakes/gateway/channel-setup.ts';

const WAIT = { timeout: 5_000, interval: 5 };
const THINKING = 'Parley is thinking...';

describe('replies to slash commands', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let ada: FakePerson;
  let shift = 0;

  beforeEach(async () => {
    shift = 0;
    setup = await DiscordSetup.open({ now: () => Date.now() + shift });
    room = setup.discord.platform.addChannel(0);
    ada = setup.discord.person('Ada');
  });
  afterEach(async () => {
    await setup.close();
  });

  const shows = async (texts: string[], viewer?: FakePerson): Promise<void> => {
    await vi.waitFor(() => expect(setup.discord.screen(room, viewer)).toEqual(texts), WAIT);
  };
  const ask = async (prompt: string): Promise<SentMessage> => {
    const before = setup.received.length;
    setup.discord.slash(room, '/ask', { prompt }, ada);
    await vi.waitFor(() => expect(setup.received.length).toBe(before + 1), WAIT);
    const placeholder = setup.received[before]?.placeholder;
    if (placeholder === undefined) throw new Error('a command must bring its deferred reply');
    return placeholder;
  };
  const edit = async (sent: SentMessage, text: string): Promise<SentMessage> =>
    (await setup.channel.edit?.(sent, setup.part(room.id, text))) ?? sent;
  const sendAfter = async (after: SentMessage, text: string): Promise<SentMessage> =>
    await setup.channel.send({ ...setup.part(room.id, text), after });

  it('continue in the same message by the normal route after 15 minutes, for a turn of 20 minutes (reliability 4.5)', async () => {
    await setup.start();
    const placeholder = await ask('think long');
    await shows([THINKING]);
    const known = await edit(placeholder, 'half');
    expect(known.realId).toBe(setup.discord.visible(room)[0]?.id);
    expect(await edit(known, 'a bit more')).toBe(known);
    shift = 20 * 60_000;
    await edit(known, 'whole');
    expect(setup.discord.screen(room)).toEqual(['whole']);
  });

  it('have further parts where the bot itself may not write, and keep them up to date', async () => {
    room.forbidden = true;
    await setup.start();
    const first = await edit(await ask('a lot?'), 'one');
    const second = await sendAfter(first, 'two');
    const third = await sendAfter(second, 'three');
    await edit(third, 'three, longer');
    await edit(second, 'two, longer');
    expect(setup.discord.screen(room)).toEqual(['one', 'two, longer', 'three, longer']);
    // An interaction allows five calls in five seconds.
    shift = 6_000;
    await setup.channel.delete?.(third, setup.part(room.id, ''));
    expect(setup.discord.screen(room)).toEqual(['one', 'two, longer']);
    expect(setup.discord.rest.calls.filter((call) => /\/channels\/\d+\/messages/.test(call))).toEqual([]);
  });

  it('have further parts as messages of the bot once 15 minutes are over', async () => {
    await setup.start();
    const first = await edit(await ask('a lot, slowly?'), 'one');
    const second = await sendAfter(first, 'two');
    shift = 20 * 60_000;
    const third = await sendAfter(second, 'three');
    await edit(second, 'two, longer');
    await edit(third, 'three, longer');
    expect(setup.discord.screen(room)).toEqual(['one', 'two, longer', 'three, longer']);
  });

  it('report a further part whose answer was lost as possibly on screen', async () => {
    await setup.start();
    const first = await edit(await ask('a lot?'), 'one');
    setup.discord.failure({ kind: 'drop', match: /^POST .webhooks/ });
    expect(await failureOf(sendAfter(first, 'two'))).toMatchObject({ code: 'outcome_unknown' });
    expect(setup.discord.screen(room)).toEqual(['one', 'two']);
  });

  it('request a new message when the rules of the server forbid the text', async () => {
    await setup.start();
    const first = await edit(await ask('secrets?'), 'one');
    room.forbids = /secret/;
    expect(await failureOf(edit(first, 'the secret'))).toMatchObject({ code: 'message_gone' });
  });

  it('report message_gone after 15 minutes when the message is unknown, so that a new one is sent', async () => {
    await setup.start();
    const placeholder = await ask('think longer');
    await shows([THINKING]);
    shift = 15 * 60_000 + 1;
    const failure = await failureOf(setup.channel.edit?.(placeholder, setup.part(room.id, 'late')));
    expect(failure).toMatchObject({ code: 'message_gone', retryable: false });
  });

  it.each([
    [404, 10_015],
    [401, 50_027],
    [404, 10_008],
  ])('calls the reply gone on %i / %i, and keeps its own token', async (status, code) => {
    await setup.start();
    const placeholder = await ask('gone?');
    await shows([THINKING]);
    shift = 4_000;
    setup.discord.failure({ kind: 'refuse', refusal: new Refusal(status, code, 'gone'), match: /@original/ });
    const failure = await failureOf(setup.channel.edit?.(placeholder, setup.part(room.id, 'x')));
    expect(failure.code).toBe('message_gone');
    await setup.channel.send(setup.part(room.id, 'a normal message'));
    expect(setup.discord.screen(room)).toEqual([THINKING, 'a normal message']);
  });

  it('wait for a deferral that another process is still making', async () => {
    const { platform } = setup.discord;
    const { token } = platform.addInteraction(room.id, ada, 2);
    const sent = {
      id: '@original',
      metadata: {
        interactionToken: token,
        applicationId: platform.applicationId,
        createdAt: String(Date.now()),
      },
    };
    const failure = await failureOf(setup.channel.edit?.(sent, setup.part(room.id, 'x')));
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true, retryAfterMs: 1_000 });
  });

  it('that arrive too late are not answered; the answer is sent as a message', async () => {
    setup.verdict = () => {
      shift = 3_500;
      return Promise.resolve(ACCEPTED);
    };
    await setup.start();
    const placeholder = await ask('too late?');
    await vi.waitFor(() => expect(setup.log.join('')).toContain('discord_command_unacknowledged'), WAIT);
    const failure = await failureOf(setup.channel.edit?.(placeholder, setup.part(room.id, 'x')));
    expect(failure.code).toBe('message_gone');
  });
});
