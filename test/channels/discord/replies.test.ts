/** Replies to slash commands: by the command's token while it is valid, then as messages of the bot. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentMessage } from '../../../src/protocol/message.ts';
import { Refusal } from '../../fakes/discord/platform.ts';
import { openSlashRoom, type SlashRoom, THINKING, WAIT } from '../../fakes/discord/slash-room.ts';
import { ACCEPTED, failureOf } from '../../fakes/gateway/channel-setup.ts';

describe('replies to slash commands', () => {
  let slash: SlashRoom;

  beforeEach(async () => {
    slash = await openSlashRoom();
  });
  afterEach(async () => {
    await slash.setup.close();
  });
  const sendAfter = async (after: SentMessage, text: string): Promise<SentMessage> =>
    await slash.setup.channel.send({ ...slash.setup.part(slash.room.id, text), after });

  it('continue in the same message by the normal route after 15 minutes, for a turn of 20 minutes (reliability 4.5)', async () => {
    await slash.setup.start();
    const placeholder = await slash.ask('think long');
    await slash.shows([THINKING]);
    const known = await slash.edit(placeholder, 'half');
    expect(known.realId).toBe(slash.setup.discord.visible(slash.room)[0]?.id);
    expect(await slash.edit(known, 'a bit more')).toBe(known);
    slash.clock.aheadMs = 20 * 60_000;
    await slash.edit(known, 'whole');
    expect(slash.setup.discord.screen(slash.room)).toEqual(['whole']);
  });

  it('have further parts where the bot itself may not write, and keep them up to date', async () => {
    slash.room.forbidden = true;
    await slash.setup.start();
    const first = await slash.edit(await slash.ask('a lot?'), 'one');
    const second = await sendAfter(first, 'two');
    const third = await sendAfter(second, 'three');
    await slash.edit(third, 'three, longer');
    await slash.edit(second, 'two, longer');
    expect(slash.setup.discord.screen(slash.room)).toEqual(['one', 'two, longer', 'three, longer']);
    // An interaction allows five calls in five seconds.
    slash.clock.aheadMs = 6_000;
    await slash.setup.channel.delete?.(third, slash.setup.part(slash.room.id, ''));
    expect(slash.setup.discord.screen(slash.room)).toEqual(['one', 'two, longer']);
    expect(slash.setup.discord.rest.calls.filter((call) => /\/channels\/\d+\/messages/.test(call))).toEqual(
      [],
    );
  });

  it('have further parts as messages of the bot once 15 minutes are over', async () => {
    await slash.setup.start();
    const first = await slash.edit(await slash.ask('a lot, slowly?'), 'one');
    const second = await sendAfter(first, 'two');
    slash.clock.aheadMs = 20 * 60_000;
    const third = await sendAfter(second, 'three');
    await slash.edit(second, 'two, longer');
    await slash.edit(third, 'three, longer');
    expect(slash.setup.discord.screen(slash.room)).toEqual(['one', 'two, longer', 'three, longer']);
  });

  it('report a further part whose answer was lost as possibly on screen', async () => {
    await slash.setup.start();
    const first = await slash.edit(await slash.ask('a lot?'), 'one');
    slash.setup.discord.failure({ kind: 'drop', match: /^POST .webhooks/ });
    expect(await failureOf(sendAfter(first, 'two'))).toMatchObject({ code: 'outcome_unknown' });
    expect(slash.setup.discord.screen(slash.room)).toEqual(['one', 'two']);
  });

  it('request a new message when the rules of the server forbid the text', async () => {
    await slash.setup.start();
    const first = await slash.edit(await slash.ask('secrets?'), 'one');
    slash.room.forbids = /secret/;
    expect(await failureOf(slash.edit(first, 'the secret'))).toMatchObject({ code: 'message_gone' });
  });

  it('report message_gone after 15 minutes when the message is unknown, so that a new one is sent', async () => {
    await slash.setup.start();
    const placeholder = await slash.ask('think longer');
    await slash.shows([THINKING]);
    slash.clock.aheadMs = 15 * 60_000 + 1;
    const failure = await failureOf(
      slash.setup.channel.edit?.(placeholder, slash.setup.part(slash.room.id, 'late')),
    );
    expect(failure).toMatchObject({ code: 'message_gone', retryable: false });
  });

  it.each([
    [404, 10_015],
    [401, 50_027],
    [404, 10_008],
  ])('calls the reply gone on %i / %i, and keeps its own token', async (status, code) => {
    await slash.setup.start();
    const placeholder = await slash.ask('gone?');
    await slash.shows([THINKING]);
    slash.clock.aheadMs = 4_000;
    slash.setup.discord.failure({
      kind: 'refuse',
      refusal: new Refusal(status, code, 'gone'),
      match: /@original/,
    });
    const failure = await failureOf(
      slash.setup.channel.edit?.(placeholder, slash.setup.part(slash.room.id, 'x')),
    );
    expect(failure.code).toBe('message_gone');
    await slash.setup.channel.send(slash.setup.part(slash.room.id, 'a normal message'));
    expect(slash.setup.discord.screen(slash.room)).toEqual([THINKING, 'a normal message']);
  });

  it('wait for a deferral that another process is still making', async () => {
    const { platform } = slash.setup.discord;
    const { token } = platform.addInteraction(slash.room.id, slash.ada, 2);
    const sent = {
      id: '@original',
      metadata: {
        interactionToken: token,
        applicationId: platform.applicationId,
        createdAt: String(Date.now()),
      },
    };
    const failure = await failureOf(slash.setup.channel.edit?.(sent, slash.setup.part(slash.room.id, 'x')));
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true, retryAfterMs: 1_000 });
  });

  it('that arrive too late are not answered; the answer is sent as a message', async () => {
    slash.setup.verdict = () => {
      slash.clock.aheadMs = 3_500;
      return Promise.resolve(ACCEPTED);
    };
    await slash.setup.start();
    const placeholder = await slash.ask('too late?');
    await vi.waitFor(
      () => expect(slash.setup.log.join('')).toContain('discord_command_unacknowledged'),
      WAIT,
    );
    const failure = await failureOf(
      slash.setup.channel.edit?.(placeholder, slash.setup.part(slash.room.id, 'x')),
    );
    expect(failure.code).toBe('message_gone');
  });
});
