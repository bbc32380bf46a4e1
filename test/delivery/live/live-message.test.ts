/** A reply that grows on screen: by edits, in order, and without affecting its turn. */
import { describe, expect, it } from 'vitest';
import { MAX_LIVE_FAILURES, SETTLE_MS, TYPING_TTL_MS } from '../../../src/delivery/live/live-message.ts';
import { FIRST_AFTER_MS, MAX_LIVE_TEXT } from '../../../src/delivery/live/live-text.ts';
import { CHECK_EVERY_MS } from '../../../src/delivery/live/reply.ts';
import { buildDelivery } from '../setup.ts';

describe('a growing reply', () => {
  it('is sent once and then edited, with the newest text only', async () => {
    const gateway = buildDelivery({ maxLength: 4_000 });
    const turn = gateway.open('t');
    for (let i = 0; i < 300; i++) {
      gateway.say('t', `word${i} `);
      await gateway.clock.advance(20);
    }
    await gateway.clock.advance(2_000);
    const words = Array.from({ length: 300 }, (_, i) => `word${i}`).join(' ');
    expect(gateway.channel.screen('1')).toEqual([words]);
    expect(gateway.channel.count('send')).toBe(1);
    expect(gateway.channel.count('edit')).toBeLessThanOrEqual(12);
    await turn.settle();
  });

  it('starts after the earlier answers, including those still undelivered after a crash', async () => {
    const gateway = buildDelivery();
    gateway.ahead.add('fake:1');
    const turn = gateway.open('t', '1', [], 'Text before the crash. ');
    gateway.say('t', 'And more.');
    await gateway.clock.advance(5_000);
    expect(gateway.channel.screen('1')).toEqual([]);
    gateway.ahead.clear();
    await gateway.clock.advance(CHECK_EVERY_MS);
    await gateway.clock.advance(10);
    expect(gateway.channel.screen('1')).toEqual(['Text before the crash. And more.']);
    await turn.settle();
  });

  it('stops waiting for earlier answers when the turn ends', async () => {
    const gateway = buildDelivery();
    gateway.ahead.add('fake:1');
    const turn = gateway.open('t');
    gateway.say('t', 'Hello');
    await turn.settle();
    gateway.ahead.clear();
    await gateway.clock.advance(5_000);
    expect([gateway.channel.screen('1'), gateway.clock.waiting]).toEqual([[], 0]);
  });

  it('stores the id of each message before anything builds on it (T5)', async () => {
    const gateway = buildDelivery();
    let release = () => {};
    const noted: number[] = [];
    const turn = gateway.delivery.live.open({
      turnId: 't',
      address: 'fake:1',
      session: 'fake:1',
      surfaces: [],
      placeholders: [],
      textSoFar: '',
      note(_ref, sent) {
        noted.push(sent.length);
        return new Promise((resolve) => (release = () => resolve({ held: true, copies: [] })));
      },
    });
    gateway.say('t', 'Hello');
    await gateway.clock.advance(10);
    gateway.say('t', ' world');
    await gateway.clock.advance(5_000);
    expect([noted, gateway.channel.count('edit')]).toEqual([[1], 0]);
    release();
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['Hello world']);
    await turn.settle();
  });

  it('continues in further messages and never edits full ones again', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    const turn = gateway.open('t');
    const seen: string[][] = [];
    for (let i = 0; i < 60; i++) {
      gateway.say('t', `Sentence number ${i} of the story. `);
      await gateway.clock.advance(1_100);
      seen.push(gateway.channel.screen('1'));
    }
    await gateway.clock.advance(5_000);
    const screen = gateway.channel.screen('1');
    expect(screen.length).toBeGreaterThan(8);
    expect(screen.join(' ').match(/number \d+/g)).toHaveLength(60);
    const middle = seen[40] ?? [];
    expect(screen.slice(0, middle.length - 1)).toEqual(middle.slice(0, -1));
    await turn.settle();
  });

  it('shows a tool and its result below the text, and removes the line when the text continues', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.say('t', 'Looking.');
    gateway.emit('t', { type: 'tool_call', toolCallId: 'c', name: 'read_file', args: {} });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['Looking.\n\n_⚙ read_file …_']);
    gateway.emit('t', {
      type: 'tool_result',
      toolCallId: 'c',
      name: 'read_file',
      result: 'x',
      isError: false,
    });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['Looking.\n\n_⚙ read_file ✓_']);
    gateway.say('t', ' Found.');
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['Looking. Found.']);
    await turn.settle();
  });

  it('removes the text of a model call that is repeated', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    const turn = gateway.open('t');
    gateway.say('t', 'Kept. ', 'one');
    gateway.say('t', 'Void text. '.repeat(40), 'two');
    await gateway.clock.advance(5_000);
    gateway.emit('t', { type: 'stream_reset', msgId: 'two' });
    gateway.say('t', 'Better.', 'two');
    await gateway.clock.advance(5_000);
    expect(gateway.channel.screen('1')[0]).toBe('Kept. Better.');
    await turn.settle();
  });

  it('replaces its text on a snapshot, and shows no text of subagents', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.say('t', 'old');
    gateway.emit('t', { type: 'snapshot', text: 'all of it' });
    gateway.emit('t', { type: 'stream_chunk', msgId: 's', delta: ' from a subagent' }, { agentId: 'a' });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['all of it']);
    await turn.settle();
  });

  it('continues in the message from before a crash, without a new message', async () => {
    const gateway = buildDelivery();
    const first = gateway.open('t');
    gateway.say('t', 'Half an ans');
    await gateway.clock.advance(2_000);
    await first.settle();
    const second = gateway.open('t', '1', gateway.parts.get('t'), 'Half an ans');
    gateway.say('t', 'wer.', 'call-2');
    await gateway.clock.advance(2_000);
    expect(gateway.channel.screen('1')).toEqual(['Half an answer.']);
    await second.settle();
  });

  it('stops growing past its limit and keeps what it shows', async () => {
    const gateway = buildDelivery({ maxLength: 5_000 });
    const turn = gateway.open('t');
    gateway.say('t', 'start');
    gateway.say('t', 'x'.repeat(MAX_LIVE_TEXT - 'start'.length + 1));
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')).toEqual(['start']);
    await turn.settle();
  });
});

describe('a failing platform', () => {
  it.each(['blocked', 'unauthorized', 'rejected', 'message_gone', 'place_gone', 'outcome_unknown'] as const)(
    'ends only the live updates when it answers %s',
    async (code) => {
      const gateway = buildDelivery();
      const turn = gateway.open('t');
      gateway.channel.failure({ code });
      gateway.say('t', 'Hello');
      await gateway.clock.advance(1_000);
      gateway.say('t', ' world');
      await gateway.clock.advance(60_000);
      expect(gateway.channel.count('send') + gateway.channel.count('edit')).toBe(1);
      await expect(turn.settle()).resolves.toMatchObject({ failed: 1 });
      expect(gateway.delivery.counts().ambiguousSends).toBe(code === 'outcome_unknown' ? 1 : 0);
    },
  );

  it('gets the same text without markup when it cannot parse it', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.channel.failure({ code: 'bad_markup' });
    gateway.say('t', 'a **bold** word');
    await gateway.clock.advance(5_000);
    expect(gateway.channel.screen('1')).toEqual(['a bold word']);
    await turn.settle();
  });

  it('is called a few times while it is unavailable, then left to the final delivery', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.channel.failure(...Array.from({ length: 10 }, () => ({ code: 'unavailable' as const })));
    gateway.say('t', 'Hello');
    await gateway.clock.advance(60_000);
    expect(gateway.channel.count('send')).toBe(MAX_LIVE_FAILURES);
    await turn.settle();
  });
});

describe('typing', () => {
  it('lasts until the turn is settled, and no longer', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    await gateway.clock.advance(20_000);
    const before = gateway.channel.count('typing');
    expect(before).toBeGreaterThanOrEqual(5);
    await turn.settle();
    await gateway.clock.advance(60_000);
    expect([gateway.channel.count('typing'), gateway.clock.waiting]).toEqual([before, 0]);
  });

  it('ends on its own when the turn is never settled', async () => {
    const gateway = buildDelivery();
    gateway.open('t');
    await gateway.clock.advance(TYPING_TTL_MS);
    const before = gateway.channel.count('typing');
    await gateway.clock.advance(TYPING_TTL_MS);
    expect(gateway.channel.count('typing')).toBe(before);
  });

  it('is all that a channel without edits shows (B-39)', async () => {
    const gateway = buildDelivery({ edit: false });
    const turn = gateway.open('t');
    gateway.say('t', 'Hello');
    await gateway.clock.advance(10_000);
    expect([gateway.channel.screen('1'), gateway.channel.count('typing') > 1]).toEqual([[], true]);
    await turn.settle();
  });
});

it('follows no events for a channel that shows nothing before the delivery', async () => {
  const gateway = buildDelivery({ edit: false, typing: false });
  const turn = gateway.open('t');
  expect(gateway.listeners.size).toBe(0);
  gateway.say('t', 'Hello');
  await gateway.clock.advance(10_000);
  expect([gateway.channel.screen('1'), gateway.channel.calls]).toEqual([[], []]);
  await turn.settle();
  const { value } = await gateway.deliver('Hello', { turnId: 't' });
  expect([value?.kind, gateway.channel.screen('1')]).toEqual(['finished', ['Hello']]);
});

describe('settling', () => {
  it('waits for the call in flight and allows no further call', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    const release = gateway.channel.hold();
    gateway.say('t', 'Hello');
    await gateway.clock.advance(FIRST_AFTER_MS);
    let settled = false;
    const settling = turn.settle().then(() => (settled = true));
    gateway.say('t', ' late');
    await gateway.clock.advance(5_000);
    expect(settled).toBe(false);
    release();
    await gateway.clock.advance(5_000);
    await settling;
    expect([gateway.channel.screen('1'), gateway.listeners.size]).toEqual([['Hello'], 0]);
  });

  it('stops waiting for a call that never ends', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t');
    gateway.channel.hold();
    gateway.say('t', 'Hello');
    await gateway.clock.advance(FIRST_AFTER_MS);
    let settled = false;
    const settling = turn.settle().then(() => (settled = true));
    await gateway.clock.advance(SETTLE_MS - 1);
    expect(settled).toBe(false);
    await gateway.clock.advance(1);
    await settling;
    expect(settled).toBe(true);
  });
});
