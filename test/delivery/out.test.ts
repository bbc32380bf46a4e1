/** The final delivery (T7): every part exactly once, exactly its text, around whatever the platform refuses. */
import { describe, expect, it } from 'vitest';
import { LaneAbort } from '../../src/contracts/bus.ts';
import { StoreError } from '../../src/contracts/errors.ts';
import { nonceOf } from '../../src/delivery/nonce.ts';
import {
  MAX_AMBIGUOUS_ATTEMPTS,
  MAX_DELIVERY_ATTEMPTS,
  RETRY_BASE_MS,
  RETRY_CAP_MS,
} from '../../src/delivery/out.ts';
import { buildHouse, HEAD } from './setup.ts';

const LONG = Array.from({ length: 40 }, (_, i) => `Paragraph ${i} of a long answer.`).join('\n\n');

describe('delivering a final text', () => {
  it('edits what grew on screen to exactly the stored text', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.say('t', 'Hel');
    await house.clock.advance(2_000);
    await turn.settle();
    const { value } = await house.deliver('Hello **world**.', { turnId: 't' });
    expect(value).toEqual({ kind: 'finished', step: { heads: [] } });
    expect(house.channel.screen('1')).toEqual(['Hello **world**.']);
    expect(house.finished).toEqual([{ ref: 't', sent: [{ id: 'm1' }] }]);
  });

  it('sends what is missing and stores each id before the next', async () => {
    const house = buildHouse({ maxLength: 200 });
    await house.deliver(LONG);
    const screen = house.channel.screen('1');
    expect(screen.join('\n\n')).toBe(LONG);
    expect(house.parts.get('ref-1')).toHaveLength(screen.length);
    expect(house.channel.calls.map((call) => call.part?.nonce)).toEqual(
      screen.map((_, index) => nonceOf('ref-1', index)),
    );
  });

  it('goes on after a crash without showing a part twice (complaint 5)', async () => {
    const house = buildHouse({ maxLength: 200, dedupes: true });
    await house.deliver(LONG);
    const whole = house.channel.screen('1');
    // Killed before the third id was stored: what is on screen is more than what is known.
    house.parts.set('ref-1', [{ id: 'm1' }, { id: 'm2' }]);
    await house.deliver(LONG);
    expect(house.channel.screen('1')).toEqual(whole);
    expect(house.parts.get('ref-1')).toHaveLength(whole.length);
  });

  it('cuts as the growing reply was cut: the final edits move nothing', async () => {
    const house = buildHouse({ maxLength: 200 });
    const turn = house.open('t');
    for (const word of LONG.split(/(?<= )/)) {
      house.say('t', word);
      await house.clock.advance(50);
    }
    await house.clock.advance(60_000);
    await turn.settle();
    const grown = house.channel.screen('1');
    await house.deliver(LONG, { turnId: 't' });
    expect(house.channel.screen('1')).toEqual(grown);
    expect(grown.join('\n\n')).toBe(LONG);
  });

  it('empties messages that the answer no longer needs', async () => {
    const house = buildHouse({ maxLength: 200 });
    const turn = house.open('t');
    house.say('t', LONG);
    await house.clock.advance(60_000);
    await turn.settle();
    await house.deliver('Short.', { turnId: 't' });
    expect(house.channel.screen('1').slice(0, 3)).toEqual(['Short.', '…', '…']);
  });

  it('puts the buttons under the last part only', async () => {
    const house = buildHouse({ maxLength: 200 });
    await house.deliver(LONG, { buttons: [{ label: 'Run', value: 'run:1' }] });
    const buttons = house.channel.buttons('1');
    expect(buttons.slice(0, -1).flat()).toEqual([]);
    expect(buttons.at(-1)).toEqual(['Run']);
  });

  it('says the final text even where the platform gives back an older message for the nonce', async () => {
    const house = buildHouse({ dedupes: true });
    house.channel.fault({ code: 'outcome_unknown', lost: true });
    const turn = house.open('t');
    house.say('t', 'Hel');
    await house.clock.advance(1_000);
    await turn.settle();
    await house.deliver('Hello.', { turnId: 't' });
    expect(house.channel.screen('1')).toEqual(['Hello.']);
  });

  it('finishes an empty answer without a call', async () => {
    const house = buildHouse();
    const { value } = await house.deliver('');
    expect([value?.kind, house.channel.calls]).toEqual(['finished', []]);
  });
});

describe('what the platform refuses', () => {
  it('is sent plain when it cannot be parsed, and only that part', async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'bad_markup' });
    await house.deliver('some **bold** text');
    expect(house.channel.screen('1')).toEqual(['some bold text']);
  });

  it('is sent anew once when the message is gone', async () => {
    const house = buildHouse({ dedupes: true });
    house.parts.set('t', [{ id: 'lost' }]);
    await house.deliver('Here it is.', { turnId: 't' });
    expect(house.channel.screen('1')).toEqual(['Here it is.']);
    house.channel.fault({ code: 'message_gone' }, { code: 'message_gone' });
    const again = await house.deliver('Once more.', { turnId: 't' });
    expect(again.error).toMatchObject({ code: 'message_gone' });
  });

  it('goes to the chat itself when the thread is gone, once', async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'place_gone' });
    await house.deliver('Hello.', { threadId: '7', replyTo: '9' });
    const last = house.channel.calls.at(-1)?.part;
    expect([last?.threadId, last?.replyTo, house.channel.screen('1')]).toEqual([
      undefined,
      undefined,
      ['Hello.'],
    ]);
    house.channel.fault({ code: 'place_gone' }, { code: 'place_gone' });
    expect((await house.deliver('Hello.')).error).toMatchObject({ code: 'place_gone' });
  });

  it('follows a chat that moved and tells where to', async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'chat_moved', movedTo: '-1001' });
    await house.deliver('Hello.');
    expect([house.channel.screen('-1001'), house.moved]).toEqual([['Hello.'], ['fake: 1 -> -1001']]);
  });

  it('is waited out in place when it is too fast, and never tried early', async () => {
    const house = buildHouse();
    house.channel.fault(
      { code: 'rate_limited', retryAfterMs: 20_000 },
      { code: 'rate_limited', retryAfterMs: 5_000 },
    );
    const { value } = await house.deliver('Hello.');
    expect([value?.kind, house.channel.early]).toEqual(['finished', 0]);
    expect(house.clock.monotonicMs()).toBeGreaterThanOrEqual(25_000);
  });

  it('leaves a long pause to the lane, where it counts as no attempt', async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'rate_limited', retryAfterMs: 13_938_000 });
    expect((await house.deliver('Hello.')).value).toEqual({ kind: 'released', delayMs: 13_938_000 });
  });

  it.each(['blocked', 'unauthorized', 'rejected'] as const)(
    'is a dead letter after one attempt when it says %s',
    async (code) => {
      const house = buildHouse();
      house.channel.fault({ code });
      const { error } = await house.deliver('Hello.');
      expect(error).toMatchObject({ code, retryable: false });
      expect(house.channel.count('send')).toBe(1);
    },
  );

  it('is tried again later and later, for about a day', async () => {
    const house = buildHouse();
    const delays: (number | undefined)[] = [];
    for (const attempts of [0, 1, 2, 9]) {
      house.channel.fault({ code: 'unavailable' });
      const { value } = await house.deliver('Hello.', {}, { attempts });
      delays.push(value?.kind === 'retry' ? value.delayMs : undefined);
    }
    expect(delays).toEqual([RETRY_BASE_MS / 2, RETRY_BASE_MS, RETRY_BASE_MS * 2, RETRY_CAP_MS / 2]);
    const span = MAX_DELIVERY_ATTEMPTS * RETRY_CAP_MS * 0.75;
    expect(span).toBeGreaterThan(18 * 3_600_000);
    expect(house.delivery.out.maxAttempts).toBe(MAX_DELIVERY_ATTEMPTS);
  });

  it('counts a send whose answer was lost apart', async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'outcome_unknown', lost: true });
    const { value } = await house.deliver('Hello.');
    expect([value?.kind, house.delivery.counts().ambiguousSends]).toEqual(['retry', 1]);
  });

  it(`is given up when ${MAX_AMBIGUOUS_ATTEMPTS} sends of it may already stand on the screen`, async () => {
    const house = buildHouse();
    house.channel.fault({ code: 'outcome_unknown', lost: true });
    const last = await house.deliver('Hello.', {}, { attempts: MAX_AMBIGUOUS_ATTEMPTS - 1 });
    expect(last.error).toMatchObject({ code: 'outcome_unknown', retryable: false });
  });
});

describe('the lane', () => {
  it('is let go when the gateway closes, with nothing half done', async () => {
    const house = buildHouse();
    const closing = new AbortController();
    const release = house.channel.hold();
    const first = house.delivery.out.handle({ ...HEAD, payload: payloadOf('One.') }, closing.signal);
    await house.clock.advance(10);
    const second = house.delivery.out.handle({ ...HEAD, payload: payloadOf('Two.') }, closing.signal);
    await house.clock.advance(10);
    closing.abort(new LaneAbort('shutdown'));
    await expect(second).resolves.toEqual({ kind: 'released' });
    release();
    await house.clock.advance(10);
    await expect(first).resolves.toMatchObject({ kind: 'finished' });
    expect(house.channel.screen('1')).toEqual(['One.']);
  });

  it('writes nothing once another node has it', async () => {
    const house = buildHouse();
    house.loseLane();
    expect((await house.deliver('Hello.')).value).toEqual({ kind: 'released' });
  });

  it('keeps an answer for a channel that is off', async () => {
    const house = buildHouse();
    expect((await house.deliver('Hello.', { channel: 'elsewhere' })).value).toMatchObject({
      kind: 'retry',
      error: { code: 'channel_off' },
    });
  });

  it('makes a dead letter of a payload nobody can read', async () => {
    const house = buildHouse();
    const { error } = await house.deliver('Hello.', {}, { payload: { ref: 'x' } });
    expect(error).toMatchObject({ code: 'bad_payload', retryable: false });
  });

  it('ends a dead head with its reason and tells the session', async () => {
    const house = buildHouse();
    const gone = new StoreError('unavailable', 'the platform stayed away');
    await house.delivery.out.onDeadLetter({ ...HEAD, payload: payloadOf('Hello.') }, gone);
    await house.delivery.out.onDeadLetter({ ...HEAD, payload: 'garbage' }, gone);
    expect(house.dead.map((entry) => entry.error)).toEqual([
      'the platform stayed away',
      'the platform stayed away',
    ]);
    expect(house.notices).toMatchObject([{ type: 'notice', code: 'dead_letter', sessionKey: 'fake:1' }]);
    expect(house.delivery.counts().dead).toBe(1);
  });
});

function payloadOf(content: string) {
  return { ref: content, message: { channel: 'fake', chatId: '1', content, media: [], buttons: [] } };
}
