/** A delivery that the platform does not accept: how long it is tried, in which forms, and what its chat reads. */
import { describe, expect, it } from 'vitest';
import {
  KEPT_BLOCKED_MS,
  KEPT_MS,
  MAX_AMBIGUOUS_SENDS,
  RETRY_BASE_MS,
  RETRY_CAP_MS,
} from '../../../src/delivery/final/out.ts';
import { buildDelivery } from '../setup.ts';

type Gateway = ReturnType<typeof buildDelivery>;
const SECOND = 'In the second form.';

/** Hands the head over again after each pause, as its lane does; returns the dead letter's error, if any. */
async function runLane(gateway: Gateway, content: string, until: () => boolean): Promise<unknown> {
  const head = { attempts: 0, waitedMs: 0 };
  while (!until()) {
    const { value, error } = await gateway.deliver(content, {}, head);
    if (value?.kind === 'finished') return undefined;
    if (value === undefined || value.kind === 'parked') return error;
    if (value.kind === 'retry') head.attempts += 1;
    if (head.attempts >= MAX_AMBIGUOUS_SENDS) return value.kind === 'retry' ? value.error : undefined;
    head.waitedMs += value.kind === 'released' ? 0 : (value.delayMs ?? 0);
    await gateway.clock.advance(value.delayMs ?? 0);
  }
  return undefined;
}

describe('a platform that is unreachable', () => {
  it('keeps a delivery for exactly a day of pauses', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'unavailable' };
    const before = gateway.clock.monotonicMs();
    const error = await runLane(gateway, 'Hello.', () => false);
    expect(error).toMatchObject({ code: 'unavailable', retryable: false });
    const tookMs = gateway.clock.monotonicMs() - before;
    expect(tookMs).toBeGreaterThanOrEqual(KEPT_MS);
    // Each try took a few seconds on the clock; the last pause ends with the day.
    expect(tookMs).toBeLessThan(KEPT_MS + gateway.channel.count('send') * 4_000);
  });

  it.each(['unavailable', 'conflict', 'unauthorized'] as const)(
    'gets the delivery when it is back at the end of the day, and not after that, if its answer was %s',
    async (code) => {
      const gateway = buildDelivery();
      gateway.channel.outage = { code };
      const early = await gateway.deliver('Hello.', {}, { waitedMs: KEPT_MS - 1 });
      expect(early.value).toMatchObject({ kind: 'waiting', delayMs: 1 });
      const late = await gateway.deliver('Hello.', {}, { waitedMs: KEPT_MS });
      expect(late.error).toMatchObject({ code, retryable: false });
      gateway.channel.outage = undefined;
      expect((await gateway.deliver('Hello.', {}, { waitedMs: KEPT_MS })).value?.kind).toBe('finished');
    },
  );

  it('is tried again after pauses that grow with the wait, and counts no attempt', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'unavailable' };
    const delays: unknown[] = [];
    for (const waitedMs of [0, 2_000, 10_000, 3_600_000]) {
      const { value } = await gateway.deliver('Hello.', {}, { waitedMs });
      delays.push(value?.kind === 'waiting' ? value.delayMs : value?.kind);
    }
    expect(delays).toEqual([RETRY_BASE_MS / 2, RETRY_BASE_MS / 2, 5_000, RETRY_CAP_MS / 2]);
  });

  it(`gives up after ${MAX_AMBIGUOUS_SENDS} sends that may all be visible`, async () => {
    const gateway = buildDelivery();
    gateway.channel.failure(
      ...Array.from({ length: 9 }, () => ({ code: 'outcome_unknown', lost: true }) as const),
    );
    const before = gateway.clock.monotonicMs();
    expect(await runLane(gateway, 'Hello.', () => false)).toMatchObject({ code: 'outcome_unknown' });
    expect(gateway.channel.count('send')).toBe(MAX_AMBIGUOUS_SENDS);
    // Ten minutes in which only sends fail lose nothing.
    expect(gateway.clock.monotonicMs() - before).toBeGreaterThanOrEqual(600_000);
  });

  it('gets a text again soon after one lost answer, later after each further one', async () => {
    const gateway = buildDelivery();
    const delays: unknown[] = [];
    for (let attempts = 0; attempts < MAX_AMBIGUOUS_SENDS - 1; attempts += 1) {
      gateway.channel.failure({ code: 'outcome_unknown', lost: true });
      const { value } = await gateway.deliver('Hello.', {}, { attempts });
      delays.push(value?.kind === 'retry' ? value.delayMs : value?.kind);
    }
    expect(delays).toEqual([1_250, 10_000, 80_000, 600_000]);
  });
});

/** Refused as it is, without markup, and under another nonce. */
const REFUSED = [{ code: 'rejected' }, { code: 'rejected' }, { code: 'rejected' }] as const;

describe('a text that the platform refuses', () => {
  it('is sent plain', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'rejected' });
    expect((await gateway.deliver('some **bold** text')).value?.kind).toBe('finished');
    expect(gateway.channel.screen('1')).toEqual(['some bold text']);
  });

  it('is sent as a new message when it is refused as an edit', async () => {
    const gateway = buildDelivery();
    gateway.parts.set('t', [await gateway.channel.send(gateway.part('Hel'))]);
    gateway.channel.failure({ code: 'rejected' }, { code: 'rejected' });
    expect((await gateway.deliver(SECOND, { turnId: 't' })).value?.kind).toBe('finished');
    // What had grown there before would remain next to it.
    expect(gateway.channel.screen('1')).toEqual([SECOND]);
  });

  it('is sent under another nonce when the message that an earlier process sent under this one accepts no text', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'rejected' }, { code: 'rejected' });
    expect((await gateway.deliver('Hello.')).value?.kind).toBe('finished');
    expect(gateway.channel.screen('1')).toEqual(['Hello.']);
  });

  it('is replaced by an apology with the id of the turn, and becomes a dead letter whose chat was notified', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure(...REFUSED);
    const { error } = await gateway.deliver('Hello.', { turnId: 'turn-9' });
    expect(error).toMatchObject({ code: 'rejected', retryable: false });
    expect(gateway.channel.screen('1')).toEqual([expect.stringMatching(/^Sorry, .*turn-9/)]);
    await gateway.dies(error);
    expect([gateway.dead[0]?.unreported, gateway.queued]).toEqual([false, []]);
  });

  it('waits for the platform when even the apology cannot be sent', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure(...REFUSED, { code: 'unavailable' });
    expect((await gateway.deliver('Hello.')).value).toMatchObject({ kind: 'waiting' });
  });

  it('leaves a dead letter whose chat was not notified when the apology is refused, too', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'rejected' };
    const { error } = await gateway.deliver('Hello.');
    await gateway.dies(error);
    expect(gateway.dead).toMatchObject([{ unreported: true }]);
  });
});

describe('an answer for a chat where the bot lacks a permission', () => {
  it('is kept for an hour, then a dead letter', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'blocked', retryable: true };
    expect((await gateway.deliver('Hi.')).value).toMatchObject({ kind: 'waiting' });
    const last = await gateway.deliver('Hi.', {}, { waitedMs: KEPT_BLOCKED_MS - 1 });
    expect(last.value).toMatchObject({ kind: 'waiting', delayMs: 1 });
    const { error } = await gateway.deliver('Hi.', {}, { waitedMs: KEPT_BLOCKED_MS });
    expect(error).toMatchObject({ code: 'blocked', retryable: false });
  });

  it('is shown once the permission is given', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'blocked', retryable: true });
    await gateway.deliver('Hi.');
    await gateway.deliver('Hi.', {}, { waitedMs: 2_000 });
    expect(gateway.channel.screen('1')).toEqual(['Hi.']);
  });
});

describe('a chat that missed an answer', () => {
  it('is notified as soon as it can be reached: a delivery without text is queued for that', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'unavailable' };
    await gateway.dies((await gateway.deliver('Lost.', {}, { waitedMs: KEPT_MS })).error);
    expect(gateway.dead).toMatchObject([{ unreported: true }]);
    const [wakeUp] = gateway.queued;
    expect(wakeUp).toMatchObject({ message: { channel: 'fake', chatId: '1', content: '' } });
    gateway.channel.outage = undefined;
    await gateway.deliver('', {}, { unreported: 1, payload: wakeUp });
    expect(gateway.channel.screen('1')).toEqual([
      expect.stringMatching(/^An earlier answer could not.*replay/),
    ]);
    expect(gateway.finished).toHaveLength(1);
  });

  it('is notified before the next answer, once, however often that is tried', async () => {
    const gateway = buildDelivery();
    await gateway.deliver('Next.', { turnId: 't' }, { unreported: 2 });
    await gateway.deliver('Next.', { turnId: 't' }, { unreported: 2 });
    expect(gateway.channel.screen('1')).toEqual([expect.stringMatching(/^2 earlier answers/), 'Next.']);
    expect(gateway.channel.count('send')).toBe(2);
  });

  it('gets its next answer even if the platform refuses the notice', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure(...REFUSED);
    expect((await gateway.deliver('Next.', {}, { unreported: 1 })).value?.kind).toBe('finished');
    expect(gateway.channel.screen('1')).toEqual(['Next.']);
  });

  it('has missed nothing more when the delivery without text dies, too', async () => {
    const gateway = buildDelivery();
    const gone = await gateway.deliver('', {}, { unreported: 1 });
    await gateway.dies(gone.error ?? new Error('the day is over'), '');
    expect([gateway.dead[0]?.unreported, gateway.queued]).toEqual([false, []]);
  });

  it('of someone who has blocked the bot is notified with the next answer only', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'blocked' });
    await gateway.dies((await gateway.deliver('Lost.')).error);
    expect([gateway.dead[0]?.unreported, gateway.queued]).toEqual([true, []]);
  });
});

describe('an answer that no one can read', () => {
  it('is stopped as by /stop when its chat is closed to the bot, once', async () => {
    const gateway = buildDelivery({ typing: false });
    gateway.channel.outage = { code: 'blocked' };
    gateway.open('t');
    gateway.say('t', 'Hello');
    await gateway.clock.advance(3_000);
    gateway.say('t', ' there');
    await gateway.clock.advance(30_000);
    expect(gateway.stopped).toEqual(['fake:1', 'in:fake:1']);
  });

  it.each([
    ['a growing text', { typing: false }],
    ['"typing…"', {}],
  ])('is completed where people can give the missing permission for %s', async (_, capabilities) => {
    const gateway = buildDelivery(capabilities);
    gateway.channel.outage = { code: 'blocked', retryable: true };
    const turn = gateway.open('t');
    gateway.say('t', 'Hello');
    await gateway.clock.advance(30_000);
    expect(gateway.stopped).toEqual([]);
    await turn.settle();
    gateway.channel.outage = undefined;
    await gateway.deliver('Hello there.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Hello there.']);
  });

  it('is stopped before its first word when not even typing can be shown', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'blocked' };
    gateway.open('t');
    await gateway.clock.advance(0);
    expect(gateway.stopped).toEqual(['fake:1', 'in:fake:1']);
  });

  it('keeps running while the platform is only unreachable', async () => {
    const gateway = buildDelivery();
    gateway.channel.outage = { code: 'unavailable' };
    gateway.open('t');
    gateway.say('t', 'Hello');
    await gateway.clock.advance(60_000);
    expect(gateway.stopped).toEqual([]);
  });
});
