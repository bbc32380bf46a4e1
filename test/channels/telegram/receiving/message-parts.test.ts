/** Which updates of a batch belong together, at the edges, and what they become. */
import { describe, expect, it } from 'vitest';
import {
  CUT_FROM,
  joinParts,
  MAX_ALBUM_PARTS,
  MAX_FORWARDS,
  MAX_TEXT_PARTS,
  type Received,
  SplitMessages,
} from '../../../../channels/telegram/receiving/split-messages.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';

describe('the parts of a message', () => {
  const at = (id: number, more: Partial<Received> = {}, message: Partial<InboundMessage> = {}): Received => ({
    id,
    ...more,
    message: {
      id: `b:${id}`,
      channel: 'telegram',
      chatId: '1',
      senderId: '1',
      content: `text ${id}`,
      timestamp: 0,
      media: [],
      place: 'private',
      mentioned: true,
      ...message,
    },
  });
  const long = (id: number, message?: Partial<InboundMessage>) => at(id, { textLength: CUT_FROM }, message);
  const forwarded = (id: number, more: Partial<Received> = {}) => at(id, more, { forwarded: true });
  const many = (count: number, make: (id: number) => Received) =>
    Array.from({ length: count }, (_, n) => make(n + 1));
  /** The ids of the parts of each message that the batch forms, complete or not. */
  const messagesOf = (batch: readonly Received[]): number[][] => {
    const split = new SplitMessages();
    const { whole, open } = split.collect(batch);
    if (open.length === 0) return whole.map((parts) => parts.map(({ id }) => id));
    return split.collect(batch).whole.map((parts) => parts.map(({ id }) => id));
  };
  const isOpen = (...batch: Received[]): boolean => new SplitMessages().collect(batch).open.length > 0;

  it(`are awaited for a text of ${CUT_FROM} characters, and for no shorter one`, () => {
    expect(isOpen(long(1))).toBe(true);
    expect(isOpen(at(1, { textLength: CUT_FROM - 1 }))).toBe(false);
    expect(isOpen(long(1), at(2))).toBe(false);
    expect(isOpen(long(1), long(2))).toBe(true);
  });

  it('of a text are not a command, reply, file, press or forwarded message, arrive soon, and from the same person', () => {
    expect(messagesOf([long(1), at(2)])).toEqual([[1, 2]]);
    expect(messagesOf([long(1), at(2, { isCommand: true })])).toEqual([[1], [2]]);
    const others: Partial<InboundMessage>[] = [
      { replyTo: '7' },
      { media: [{ kind: 'image', url: 'a' }] },
      { button: 'x' },
      { forwarded: true },
      { timestamp: 2_001 },
      { senderId: '2' },
      { chatId: '2' },
      { threadId: '2' },
    ];
    for (const other of others) expect(messagesOf([long(1), at(2, {}, other)])).toEqual([[1], [2]]);
    expect(messagesOf([long(1), at(2, {}, { timestamp: 2_000 })])).toEqual([[1, 2]]);
  });

  it(`are at most ${MAX_TEXT_PARTS} of a text; the next one starts another message`, () => {
    expect(isOpen(...many(MAX_TEXT_PARTS - 1, long))).toBe(true);
    expect(isOpen(...many(MAX_TEXT_PARTS, long))).toBe(false);
    const all = messagesOf([...many(MAX_TEXT_PARTS, long), at(99)]);
    expect(all.map((parts) => parts.length)).toEqual([MAX_TEXT_PARTS, 1]);
  });

  it(`are at most ${MAX_FORWARDS} forwarded messages, of which an album is one`, () => {
    expect(isOpen(...many(MAX_FORWARDS - 1, forwarded))).toBe(true);
    expect(isOpen(...many(MAX_FORWARDS, forwarded))).toBe(false);
    expect(messagesOf(many(MAX_FORWARDS + 1, forwarded)).map((parts) => parts.length)).toEqual([
      MAX_FORWARDS,
      1,
    ]);
    const album = (id: number) => forwarded(id + 50, { album: 'g' });
    expect(messagesOf([...many(MAX_FORWARDS - 1, forwarded), ...many(5, album), forwarded(99)])).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 51, 52, 53, 54, 55],
      [99],
    ]);
  });

  it('name at most three authors in front, and each one where it speaks', () => {
    const from = (id: number, forwardedFrom?: string) => at(id, {}, { forwarded: true, forwardedFrom });
    const five = joinParts([from(1, 'A'), from(2, 'B'), from(3), from(4, 'D'), from(5, 'E')]);
    expect(five.forwardedFrom).toBe('A, B, someone else and 2 others');
    expect(five.content).toBe('A: text 1\nB: text 2\nsomeone else: text 3\nD: text 4\nE: text 5');
    const same = joinParts([from(1, 'A'), from(2, 'A')]);
    expect([same.forwardedFrom, same.content]).toEqual(['A', 'text 1\ntext 2']);
  });
});

describe('the parts of an album', () => {
  const part = (id: number, more: Partial<InboundMessage> = {}): Received => ({
    id,
    album: 'g',
    message: {
      id: `b:${id}`,
      channel: 'telegram',
      chatId: '1',
      senderId: '1',
      content: '',
      timestamp: 0,
      media: [],
      place: 'private',
      mentioned: false,
      ...more,
    },
  });
  const parts = (count: number): Received[] => Array.from({ length: count }, (_, n) => part(n + 1));

  it(`wait for more, up to ${MAX_ALBUM_PARTS}`, () => {
    const split = new SplitMessages();
    expect(split.collect(parts(MAX_ALBUM_PARTS - 1))).toMatchObject({ whole: [], open: { length: 9 } });
    expect(split.collect(parts(MAX_ALBUM_PARTS))).toMatchObject({ whole: [{ length: 10 }], open: [] });
  });

  it('are complete when none arrived since the last poll, counted again with each arrival', () => {
    const split = new SplitMessages();
    const open = [2, 3, 1, 3, 3].map((count) => split.collect(parts(count)).open.length);
    expect(open).toEqual([2, 3, 1, 3, 0]);
  });

  it('do not wait once their chat moves on, whatever other chats do', () => {
    const later = (chatId: string): Received => ({ ...part(9, { chatId }), album: undefined });
    expect(new SplitMessages().collect([...parts(2), later('2')]).open).toHaveLength(2);
    expect(new SplitMessages().collect([...parts(2), later('1')]).open).toEqual([]);
  });

  it('call the bot if one does, and are forwarded if one is', () => {
    const named = part(2, { mentioned: true, content: 'you' });
    const message = joinParts([part(1, { content: 'hey' }), named, part(3, { forwarded: true })]);
    expect(message).toMatchObject({ id: 'b:1', content: 'hey\nyou', mentioned: true, forwarded: true });
    expect(joinParts([part(1), part(2)]).forwarded).toBeUndefined();
  });
});
