/** Refusals of Discord's REST API: what is retried and when, what becomes a new message, and what health reports. */
import { wordedHealth } from '../../../fakes/gateway/worded-health.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_UNNAMED, REFUSAL_KEPT_MS, UNNAMED_WAIT_MS } from '../../../../channels/discord/rest.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../../../src/protocol/channel.ts';
import { type FakeChannel, Refusal } from '../../../fakes/discord/platform.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { failureOf } from '../../../fakes/gateway/channel-setup.ts';

describe('refusals by Discord', () => {
  let setup: DiscordSetup;
  let room: FakeChannel;
  let now: number;

  beforeEach(async () => {
    now = Date.now();
    setup = await DiscordSetup.open({ now: () => now });
    room = setup.discord.platform.addChannel(0);
  });
  afterEach(async () => {
    await setup.close();
  });

  const send = async (text: string, to = room) => await setup.channel.send(setup.part(to.id, text));
  const edit = async (sent: { id: string }, text: string) => {
    await setup.channel.edit?.(sent, setup.part(room.id, text));
  };
  const calls = () => setup.discord.rest.calls.length;

  describe('of the token', () => {
    it('a single one costs no later call: the token is checked and found valid', async () => {
      setup.discord.failure({ kind: 'refuse', refusal: new Refusal(401, 0, '401: Unauthorized') });
      expect(await failureOf(send('first'))).toMatchObject({ code: 'unavailable', retryable: true });
      await send('second');
      expect(setup.discord.screen(room)).toEqual(['second']);
      expect(setup.channel.health().state).toBe('off');
    });

    it('is not assumed if Discord is unreachable during the check: calls resume the moment it is back', async () => {
      setup.discord.failure({ kind: 'refuse', refusal: new Refusal(401, 0, '401: Unauthorized') });
      setup.discord.failure({ kind: 'status', status: 503 });
      expect(await failureOf(send('first'))).toMatchObject({ code: 'unavailable', retryable: true });
      await send('second');
      expect(setup.discord.screen(room)).toEqual(['second']);
    });

    it('is checked again soon after an outage, however long it was refused before', async () => {
      setup.discord.rest.revoked = true;
      await failureOf(send('first'));
      now += DEAD_AFTER_MS;
      setup.discord.failure({ kind: 'status', status: 503 });
      const failure = await failureOf(send('while it is away'));
      expect(failure.retryAfterMs).toBeLessThanOrEqual(60_000);
      setup.discord.rest.revoked = false;
      now += failure.retryAfterMs ?? 0;
      await send('back');
      expect(setup.discord.screen(room)).toEqual(['back']);
    });

    it('is checked ever more rarely while it lasts, with no call in between', async () => {
      setup.discord.rest.revoked = true;
      const waits: (number | undefined)[] = [];
      for (let i = 0; i < 6; i += 1) {
        const failure = await failureOf(send(`try ${i}`));
        expect(failure).toMatchObject({ code: 'unauthorized', retryable: true });
        waits.push(failure.retryAfterMs);
        const before = calls();
        await failureOf(send('too soon'));
        expect(calls()).toBe(before);
        now += failure.retryAfterMs ?? 0;
      }
      expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    });

    it('makes the channel dead after ten minutes, checked hourly, and alive again without a restart', async () => {
      setup.discord.rest.revoked = true;
      await failureOf(send('first'));
      expect(setup.channel.health()).toMatchObject({ state: 'degraded' });
      now += DEAD_AFTER_MS - 1;
      expect(setup.channel.health().state).toBe('degraded');
      now += 1;
      expect(setup.channel.health()).toMatchObject({ state: 'dead' });
      expect(wordedHealth(setup.channel).detail).toContain('DISCORD_BOT_TOKEN');
      expect(await failureOf(send('dead'))).toMatchObject({ retryAfterMs: DEAD_INTERVAL_MS });
      setup.discord.rest.revoked = false;
      now += DEAD_INTERVAL_MS - 1;
      expect(await failureOf(send('still waiting'))).toMatchObject({ code: 'unauthorized' });
      now += 1;
      await send('alive');
      expect(setup.discord.screen(room)).toEqual(['alive']);
      expect(setup.channel.health().state).toBe('off');
    });
  });

  describe('of an edit request a new message', () => {
    it.each([
      [404, 0],
      [404, 10_003],
      [403, 50_001],
      [403, 50_013],
      [403, 20_026],
      [400, 50_083],
      [400, 99_999],
    ])('%i / %i', async (status, code) => {
      const sent = await send('beginning');
      setup.discord.failure({ kind: 'refuse', refusal: new Refusal(status, code, 'as told') });
      expect(await failureOf(edit(sent, 'end'))).toMatchObject({ code: 'message_gone', retryable: false });
    });

    it('by the rules of the server (AutoMod)', async () => {
      const sent = await send('beginning');
      room.forbids = /secret/;
      expect(await failureOf(edit(sent, 'the secret'))).toMatchObject({ code: 'message_gone' });
      expect(await failureOf(send('the secret'))).toMatchObject({ code: 'rejected' });
    });

    it('for the age of the message, although Discord only asks to wait', async () => {
      const sent = await send('beginning');
      now += 3_600_001;
      await edit(sent, 'middle');
      expect(await failureOf(edit(sent, 'end'))).toMatchObject({ code: 'message_gone' });
      await edit(await send('new'), 'newer');
      expect(setup.discord.screen(room)).toEqual(['middle', 'newer']);
    });
  });

  describe('of too many calls', () => {
    it('without a time are waited out for 5 s and longer, then count as failures', async () => {
      for (let i = 0; i < MAX_UNNAMED; i += 1) {
        setup.discord.failure({ kind: 'status', status: 429 });
        const failure = await failureOf(send('again'));
        expect(failure).toMatchObject({ code: 'rate_limited', local: false });
        expect(failure.retryAfterMs).toBeGreaterThanOrEqual(UNNAMED_WAIT_MS);
        now += failure.retryAfterMs ?? 0;
      }
      setup.discord.failure({ kind: 'status', status: 429 });
      expect(await failureOf(send('again'))).toMatchObject({ code: 'unavailable', retryable: true });
    });

    it('are waited out as long as asked, even if the clock is set back in the meantime', async () => {
      let wall = now;
      await setup.close();
      setup = await DiscordSetup.open({ timing: { epochNow: () => wall, monotonicMs: () => now } });
      room = setup.discord.platform.addChannel(0);
      setup.discord.failure({ kind: 'status', status: 429 });
      const { retryAfterMs = 0 } = await failureOf(send('too fast'));
      wall -= 2 * 3_600_000;
      now += retryAfterMs;
      await send('in time');
      expect(setup.discord.screen(room)).toEqual(['in time']);
    });

    it('hold back further calls, marking that Discord itself has not refused those', async () => {
      setup.discord.rateLimit(60_000);
      expect(await failureOf(send('one'))).toMatchObject({ local: false, global: false });
      expect(await failureOf(send('two'))).toMatchObject({ local: true });
    });

    it('of the bot as a whole hold back every channel', async () => {
      const other = setup.discord.platform.addChannel(0);
      setup.discord.rateLimit(60_000, 'global');
      expect(await failureOf(send('one'))).toMatchObject({ global: true });
      expect(await failureOf(send('two', other))).toMatchObject({ code: 'rate_limited', local: true });
      expect(setup.discord.limits).toMatchObject({ refused: 1, early: 0 });
    });
  });

  it.each([403, 404, 418])(
    'by something in front of Discord (%i without JSON) are tried again',
    async (status) => {
      setup.discord.failure({ kind: 'status', status });
      expect(await failureOf(send('x'))).toMatchObject({ code: 'unavailable', retryable: true });
    },
  );

  it('for lack of a permission are reported by health for an hour, or until the channel can be written to', async () => {
    room.forbidden = true;
    expect(await failureOf(send('x'))).toMatchObject({ code: 'blocked' });
    expect(setup.channel.health()).toMatchObject({ state: 'degraded' });
    expect(wordedHealth(setup.channel).detail).toContain('Send Messages');
    room.forbidden = false;
    await send('y');
    expect(setup.channel.health().state).toBe('off');
    room.forbidden = true;
    await failureOf(send('z'));
    now += REFUSAL_KEPT_MS;
    expect(setup.channel.health().state).toBe('off');
  });

  it('by a person who accepts no messages do not affect health', async () => {
    const { channel } = setup.discord.dm();
    channel.closed = true;
    expect(await failureOf(send('x', channel))).toMatchObject({ code: 'blocked' });
    expect(setup.channel.health().state).toBe('off');
  });

  it('of every call are reported by health, until one is answered', async () => {
    for (let i = 0; i < 3; i += 1) {
      setup.discord.failure({ kind: 'status', status: 502 });
      await failureOf(send('x'));
    }
    expect(setup.channel.health()).toMatchObject({ state: 'degraded' });
    await send('y');
    expect(setup.channel.health().state).toBe('off');
  });
});
