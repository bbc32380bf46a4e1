/** The final delivery (T7): every part exactly once and with exactly its text, whatever the platform refuses. */
import { describe, expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import { SUSPECT_CRASHES, WAIT_NOTED_MS } from '../../../src/protocol/store/lanes.ts';
import { MAX_AMBIGUOUS_SENDS } from '../../../src/delivery/final/out.ts';
import { nonceOf } from '../../../src/delivery/final/part-notes.ts';
import { buildDelivery, HEAD } from '../setup.ts';

const LONG = Array.from({ length: 40 }, (_, i) => `Paragraph ${i} of a long answer.`).join('\n\n');

describe('delivering a final text', () => {
  it('edits the growing reply to exactly the stored text', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.say('t', 'Hel');
    await gateway.clock.advance(2_000);
    await turn.settle();
    const { value } = await gateway.deliver('Hello **world**.', { turnId: 't' });
    expect(value).toEqual({ kind: 'finished', step: { heads: [] } });
    expect(gateway.channel.screen('1')).toEqual(['Hello **world**.']);
    expect(gateway.finished).toEqual([{ ref: 't', sent: [{ id: 'm1' }] }]);
  });

  it('sends what is missing and stores each id before the next send', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    await gateway.deliver(LONG);
    const screen = gateway.channel.screen('1');
    expect(screen.join('\n\n')).toBe(LONG);
    expect(gateway.parts.get('ref-1')).toHaveLength(screen.length);
    expect(gateway.channel.calls.map((call) => call.part?.nonce)).toEqual(
      screen.map((_, index) => nonceOf('ref-1', index)),
    );
  });

  it('continues after a crash without sending a part twice', async () => {
    const gateway = buildDelivery({ maxLength: 200, dedupes: true });
    await gateway.deliver(LONG);
    const whole = gateway.channel.screen('1');
    // Killed before the third id was stored: more is on screen than is known.
    gateway.parts.set('ref-1', [{ id: 'm1' }, { id: 'm2' }]);
    await gateway.deliver(LONG);
    expect(gateway.channel.screen('1')).toEqual(whole);
    expect(gateway.parts.get('ref-1')).toHaveLength(whole.length);
  });

  it('cuts the text where the growing reply was cut: the final edits move nothing', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    const turn = gateway.open('t');
    for (const word of LONG.split(/(?<= )/)) {
      gateway.say('t', word);
      await gateway.clock.advance(50);
    }
    await gateway.clock.advance(60_000);
    await turn.settle();
    const grown = gateway.channel.screen('1');
    await gateway.deliver(LONG, { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(grown);
    expect(grown.join('\n\n')).toBe(LONG);
  });

  it('puts the buttons under the last part only', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    await gateway.deliver(LONG, { buttons: [{ label: 'Run', value: 'run:1' }] });
    const buttons = gateway.channel.buttons('1');
    expect(buttons.slice(0, -1).flat()).toEqual([]);
    expect(buttons.at(-1)).toEqual(['Run']);
  });

  it('shows the final text even if the platform answers the nonce with an older message', async () => {
    const gateway = buildDelivery({ dedupes: true });
    gateway.channel.failure({ code: 'outcome_unknown', lost: true });
    const turn = gateway.open('t');
    gateway.say('t', 'Hel');
    await gateway.clock.advance(1_000);
    await turn.settle();
    await gateway.deliver('Hello.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Hello.']);
  });

  it('finishes an empty answer without a call', async () => {
    const gateway = buildDelivery();
    const { value } = await gateway.deliver('');
    expect([value?.kind, gateway.channel.calls]).toEqual(['finished', []]);
  });
});

describe('a delivery that the platform refuses', () => {
  it('is sent plain when it cannot be parsed, but only that part', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'bad_markup' });
    await gateway.deliver('some **bold** text');
    expect(gateway.channel.screen('1')).toEqual(['some bold text']);
  });

  it('is sent again once when the message was deleted', async () => {
    const gateway = buildDelivery({ dedupes: true });
    gateway.parts.set('t', [{ id: 'lost' }]);
    await gateway.deliver('Here it is.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Here it is.']);
    gateway.channel.failure({ code: 'message_gone' }, { code: 'message_gone' }, { code: 'message_gone' });
    const again = await gateway.deliver('Once more.', { turnId: 't' });
    expect(again.error).toMatchObject({ code: 'message_gone' });
  });

  it('goes to the chat itself when the thread was deleted, once', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'place_gone' });
    await gateway.deliver('Hello.', { threadId: '7', replyTo: '9' });
    const last = gateway.channel.calls.at(-1)?.part;
    expect([last?.threadId, last?.replyTo, gateway.channel.screen('1')]).toEqual([
      undefined,
      undefined,
      ['Hello.'],
    ]);
    gateway.channel.failure({ code: 'place_gone' }, { code: 'place_gone' }, { code: 'place_gone' });
    expect((await gateway.deliver('Hello.')).error).toMatchObject({ code: 'place_gone' });
  });

  it('follows a chat that moved, and reports its new id', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'chat_moved', movedTo: '-1001' });
    await gateway.deliver('Hello.');
    expect([gateway.channel.screen('-1001'), gateway.moved]).toEqual([['Hello.'], ['fake: 1 -> -1001']]);
  });

  it("starts over in the chat that it moved to: the old chat's messages and threads do not exist there", async () => {
    const gateway = buildDelivery();
    gateway.parts.set('t', [{ id: 'in the old chat' }]);
    gateway.channel.failure({ code: 'chat_moved', movedTo: '-1001' });
    await gateway.deliver('The answer grows.', { turnId: 't', threadId: '7', replyTo: 'm9' });
    expect(gateway.channel.screen('-1001')).toEqual(['The answer grows.']);
    const { part } = gateway.channel.calls.at(-1) ?? {};
    expect([part?.chatId, part?.threadId, part?.replyTo]).toEqual(['-1001', undefined, undefined]);
  });

  it('waits when it is too fast, and never calls early', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure(
      { code: 'rate_limited', retryAfterMs: 20_000 },
      { code: 'rate_limited', retryAfterMs: 5_000 },
    );
    const { value } = await gateway.deliver('Hello.');
    expect([value?.kind, gateway.channel.early]).toEqual(['finished', 0]);
    expect(gateway.clock.monotonicMs()).toBeGreaterThanOrEqual(25_000);
  });

  it('leaves a long pause to the lane, which counts no attempt', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'rate_limited', retryAfterMs: 13_938_000 });
    expect((await gateway.deliver('Hello.')).value).toEqual({ kind: 'released', delayMs: 13_938_000 });
  });

  it('is a dead letter after one attempt when the chat is closed to the bot', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'blocked' });
    const { error } = await gateway.deliver('Hello.');
    expect(error).toMatchObject({ code: 'blocked', retryable: false });
    expect(gateway.channel.count('send')).toBe(1);
  });

  it('counts sends whose answer was lost', async () => {
    const gateway = buildDelivery();
    gateway.channel.failure({ code: 'outcome_unknown', lost: true });
    const { value } = await gateway.deliver('Hello.');
    expect([value?.kind, gateway.delivery.counts().ambiguousSends]).toEqual(['retry', 1]);
    expect(gateway.delivery.out.maxAttempts).toBe(MAX_AMBIGUOUS_SENDS);
  });
});

it('says what the gateway itself has to say in the language of its reader', async () => {
  const gateway = buildDelivery();
  for (const [ref, language] of [['t1', 'de'] as const, ['t2', undefined] as const]) {
    const message = {
      channel: 'fake',
      chatId: '1',
      content: '',
      turnId: ref,
      media: [],
      buttons: [],
      language,
    };
    await gateway.deliver('', {}, { payload: { ref, message, says: 'turn.stopped' } });
    await gateway.clock.advance(5_000);
  }
  expect(gateway.channel.screen('1')).toEqual(['_(angehalten)_', '_(stopped)_']);
});

describe('a delivery that waits for limits', () => {
  const SUSPECT = { crashes: SUSPECT_CRASHES };

  it('reports it once it has waited for a second, and again when it is working', async () => {
    const gateway = buildDelivery();
    await gateway.deliver('Hello.');
    expect(gateway.waits).toEqual([]);
    await gateway.clock.advance(10_000);
    gateway.channel.failure({ code: 'rate_limited', retryAfterMs: WAIT_NOTED_MS / 2 });
    await gateway.deliver('Hello soon.', { turnId: 't2' });
    expect(gateway.waits).toEqual([]);
    gateway.channel.failure({ code: 'rate_limited', retryAfterMs: 3 * WAIT_NOTED_MS });
    await gateway.deliver('Hello again.', { turnId: 't3' });
    expect(gateway.waits).toEqual([true, false]);
    expect(gateway.channel.screen('1')).toEqual(['Hello.', 'Hello soon.', 'Hello again.']);
  });

  it('reports its wait immediately if it is a suspect, so that other suspects can run', async () => {
    const gateway = buildDelivery();
    await gateway.deliver('Hello.', {}, { crashes: SUSPECT_CRASHES - 1 });
    expect(gateway.waits).toEqual([]);
    gateway.channel.failure({ code: 'rate_limited', retryAfterMs: 3_000 });
    await gateway.deliver('Hello again.', { turnId: 't2' }, SUSPECT);
    expect(gateway.waits).toEqual([true, false, true, false]);
    expect(gateway.channel.screen('1')).toEqual(['Hello.', 'Hello again.']);
  });

  it('calls nothing once another node holds its lane', async () => {
    const gateway = buildDelivery();
    gateway.loseLane();
    expect((await gateway.deliver('Hello.', {}, SUSPECT)).value).toEqual({ kind: 'released' });
    expect(gateway.channel.count('send')).toBe(0);
  });
});

describe('the lane', () => {
  it('is released when the gateway closes, without a half-sent part', async () => {
    const gateway = buildDelivery();
    const closing = new AbortController();
    const release = gateway.channel.hold();
    const first = gateway.delivery.out.handle({ ...HEAD, payload: payloadOf('One.') }, closing.signal);
    await gateway.clock.advance(10);
    const second = gateway.delivery.out.handle({ ...HEAD, payload: payloadOf('Two.') }, closing.signal);
    await gateway.clock.advance(10);
    closing.abort(new LaneAbort('shutdown'));
    await expect(second).resolves.toEqual({ kind: 'released' });
    release();
    await gateway.clock.advance(10);
    await expect(first).resolves.toMatchObject({ kind: 'finished' });
    expect(gateway.channel.screen('1')).toEqual(['One.']);
  });

  it('writes nothing once another node owns it', async () => {
    const gateway = buildDelivery();
    gateway.loseLane();
    expect((await gateway.deliver('Hello.')).value).toEqual({ kind: 'released' });
  });

  it('keeps an answer for a channel that is off', async () => {
    const gateway = buildDelivery();
    expect((await gateway.deliver('Hello.', { channel: 'elsewhere' })).value).toMatchObject({
      kind: 'waiting',
      error: { code: 'channel_off' },
    });
  });

  it('moves a payload that cannot be read to the dead letters', async () => {
    const gateway = buildDelivery();
    const { error } = await gateway.deliver('Hello.', {}, { payload: { ref: 'x' } });
    expect(error).toMatchObject({ code: 'bad_payload', retryable: false });
  });

  it('finishes a dead letter with its reason and notifies the session', async () => {
    const gateway = buildDelivery();
    const gone = new StoreError('unavailable', 'the platform is still unavailable');
    await gateway.delivery.out.onDeadLetter({ ...HEAD, payload: payloadOf('Hello.') }, gone);
    await gateway.delivery.out.onDeadLetter({ ...HEAD, payload: 'garbage' }, gone);
    expect(gateway.dead.map((entry) => entry.error)).toEqual([
      'the platform is still unavailable',
      'the platform is still unavailable',
    ]);
    expect(gateway.notices).toMatchObject([{ type: 'notice', code: 'dead_letter', sessionKey: 'fake:1' }]);
    expect(gateway.delivery.counts().dead).toBe(1);
  });
});

function payloadOf(content: string) {
  return { ref: content, message: { channel: 'fake', chatId: '1', content, media: [], buttons: [] } };
}
