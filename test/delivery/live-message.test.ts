/** A reply that grows on screen: by edits, in order, never harming its turn. */
import { describe, expect, it } from 'vitest';
import { TYPING_TTL_MS } from '../../src/delivery/typing.ts';
import { MAX_LIVE_TEXT } from '../../src/delivery/live-text.ts';
import { MAX_LIVE_FAILURES, SETTLE_MS } from '../../src/delivery/live-message.ts';
import { CHECK_EVERY_MS } from '../../src/delivery/wait-for-earlier.ts';
import { buildHouse } from './setup.ts';

describe('a growing reply', () => {
  it('is sent once and then edited, with the newest text only', async () => {
    const house = buildHouse({ maxLength: 4_000 });
    const turn = house.open('t');
    for (let i = 0; i < 300; i++) {
      house.say('t', `word${i} `);
      await house.clock.advance(20);
    }
    await house.clock.advance(2_000);
    const words = Array.from({ length: 300 }, (_, i) => `word${i}`).join(' ');
    expect(house.channel.screen('1')).toEqual([words]);
    expect(house.channel.count('send')).toBe(1);
    expect(house.channel.count('edit')).toBeLessThanOrEqual(12);
    await turn.settle();
  });

  it('begins below the earlier answers, also those still on their way after a crash', async () => {
    const house = buildHouse();
    house.ahead.add('fake:1');
    const turn = house.open('t', '1', [], 'Said before the crash. ');
    house.say('t', 'And more.');
    await house.clock.advance(5_000);
    expect(house.channel.screen('1')).toEqual([]);
    house.ahead.clear();
    await house.clock.advance(CHECK_EVERY_MS + 10);
    expect(house.channel.screen('1')).toEqual(['Said before the crash. And more.']);
    await turn.settle();
  });

  it('stops waiting for its place when the turn ends', async () => {
    const house = buildHouse();
    house.ahead.add('fake:1');
    const turn = house.open('t');
    house.say('t', 'Hello');
    await turn.settle();
    house.ahead.clear();
    await house.clock.advance(5_000);
    expect([house.channel.screen('1'), house.clock.waiting]).toEqual([[], 0]);
  });

  it('stores the id of each message before anything builds on it (T5)', async () => {
    const house = buildHouse();
    let release = () => {};
    const noted: number[] = [];
    const turn = house.delivery.live.open({
      turnId: 't',
      address: 'fake:1',
      placeholders: [],
      textSoFar: '',
      noteCard: () => Promise.resolve(),
      note(sent) {
        noted.push(sent.length);
        return new Promise((resolve) => (release = resolve));
      },
    });
    house.say('t', 'Hello');
    await house.clock.advance(10);
    house.say('t', ' world');
    await house.clock.advance(5_000);
    expect([noted, house.channel.count('edit')]).toEqual([[1], 0]);
    release();
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['Hello world']);
    await turn.settle();
  });

  it('rolls over into further messages and leaves finished ones alone', async () => {
    const house = buildHouse({ maxLength: 200 });
    const turn = house.open('t');
    const seen: string[][] = [];
    for (let i = 0; i < 60; i++) {
      house.say('t', `Sentence number ${i} of the story. `);
      await house.clock.advance(1_100);
      seen.push(house.channel.screen('1'));
    }
    await house.clock.advance(5_000);
    const screen = house.channel.screen('1');
    expect(screen.length).toBeGreaterThan(8);
    expect(screen.join(' ').match(/number \d+/g)).toHaveLength(60);
    const middle = seen[40] ?? [];
    expect(screen.slice(0, middle.length - 1)).toEqual(middle.slice(0, -1));
    await turn.settle();
  });

  it('shows a tool below the text, how it went, and takes the line away when there are words again', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.say('t', 'Looking.');
    house.emit('t', { type: 'tool_call', toolCallId: 'c', name: 'read_file', args: {} });
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['Looking.\n\n_⚙ read_file …_']);
    house.emit('t', { type: 'tool_result', toolCallId: 'c', name: 'read_file', result: 'x', isError: false });
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['Looking.\n\n_⚙ read_file ✓_']);
    house.say('t', ' Found.');
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['Looking. Found.']);
    await turn.settle();
  });

  it('takes back the text of a model call that is repeated', async () => {
    const house = buildHouse({ maxLength: 200 });
    const turn = house.open('t');
    house.say('t', 'Kept. ', 'one');
    house.say('t', 'Void text. '.repeat(40), 'two');
    await house.clock.advance(5_000);
    house.emit('t', { type: 'stream_reset', msgId: 'two' });
    house.say('t', 'Better.', 'two');
    await house.clock.advance(5_000);
    expect(house.channel.screen('1')[0]).toBe('Kept. Better.');
    await turn.settle();
  });

  it('replaces everything on a snapshot, and leaves subagents out', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.say('t', 'old');
    house.emit('t', { type: 'snapshot', text: 'all of it' });
    house.emit('t', { type: 'stream_chunk', msgId: 's', delta: ' from a subagent' }, { agentId: 'a' });
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['all of it']);
    await turn.settle();
  });

  it('goes on in the message from before a crash, and never sends anew', async () => {
    const house = buildHouse();
    const first = house.open('t');
    house.say('t', 'Half an ans');
    await house.clock.advance(2_000);
    await first.settle();
    const second = house.open('t', '1', house.parts.get('t'), 'Half an ans');
    house.say('t', 'wer.', 'call-2');
    await house.clock.advance(2_000);
    expect(house.channel.screen('1')).toEqual(['Half an answer.']);
    await second.settle();
  });

  it('stops growing past its bound and keeps what it shows', async () => {
    const house = buildHouse({ maxLength: 5_000 });
    const turn = house.open('t');
    house.say('t', 'start');
    house.say('t', 'x'.repeat(MAX_LIVE_TEXT - 'start'.length + 1));
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')).toEqual(['start']);
    await turn.settle();
  });
});

describe('a failing platform', () => {
  it.each(['blocked', 'unauthorized', 'rejected', 'message_gone', 'place_gone', 'outcome_unknown'] as const)(
    'harms only the sight when it says %s',
    async (code) => {
      const house = buildHouse();
      const turn = house.open('t');
      house.channel.fault({ code });
      house.say('t', 'Hello');
      await house.clock.advance(1_000);
      house.say('t', ' world');
      await house.clock.advance(60_000);
      expect(house.channel.count('send') + house.channel.count('edit')).toBe(1);
      await expect(turn.settle()).resolves.toBeUndefined();
      expect(house.delivery.counts().ambiguousSends).toBe(code === 'outcome_unknown' ? 1 : 0);
    },
  );

  it('gets the same text without markup when it cannot parse it', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.channel.fault({ code: 'bad_markup' });
    house.say('t', 'a **bold** word');
    await house.clock.advance(5_000);
    expect(house.channel.screen('1')).toEqual(['a bold word']);
    await turn.settle();
  });

  it('is tried a few times while it is away, then left to the final delivery', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.channel.fault(...Array.from({ length: 10 }, () => ({ code: 'unavailable' as const })));
    house.say('t', 'Hello');
    await house.clock.advance(60_000);
    expect(house.channel.count('send')).toBe(MAX_LIVE_FAILURES);
    await turn.settle();
  });
});

describe('typing', () => {
  it('lasts until the turn is settled, and no longer (complaint 6)', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    await house.clock.advance(20_000);
    const before = house.channel.count('typing');
    expect(before).toBeGreaterThanOrEqual(5);
    await turn.settle();
    await house.clock.advance(60_000);
    expect([house.channel.count('typing'), house.clock.waiting]).toEqual([before, 0]);
  });

  it('ends by itself when nobody settles', async () => {
    const house = buildHouse();
    house.open('t');
    await house.clock.advance(TYPING_TTL_MS);
    const before = house.channel.count('typing');
    await house.clock.advance(TYPING_TTL_MS);
    expect(house.channel.count('typing')).toBe(before);
  });

  it('is all that a channel without edits shows (B-39)', async () => {
    const house = buildHouse({ edit: false });
    const turn = house.open('t');
    house.say('t', 'Hello');
    await house.clock.advance(10_000);
    expect([house.channel.screen('1'), house.channel.count('typing') > 1]).toEqual([[], true]);
    await turn.settle();
  });
});

describe('settling', () => {
  it('waits for the call in flight and lets nothing follow', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    const release = house.channel.hold();
    house.say('t', 'Hello');
    await house.clock.advance(100);
    let settled = false;
    const settling = turn.settle().then(() => (settled = true));
    house.say('t', ' late');
    await house.clock.advance(5_000);
    expect(settled).toBe(false);
    release();
    await house.clock.advance(5_000);
    await settling;
    expect([house.channel.screen('1'), house.listeners.size]).toEqual([['Hello'], 0]);
  });

  it('gives up on a call that never ends', async () => {
    const house = buildHouse();
    const turn = house.open('t');
    house.channel.hold();
    house.say('t', 'Hello');
    await house.clock.advance(100);
    let settled = false;
    const settling = turn.settle().then(() => (settled = true));
    await house.clock.advance(SETTLE_MS - 1);
    expect(settled).toBe(false);
    await house.clock.advance(1);
    await settling;
    expect(settled).toBe(true);
  });
});
