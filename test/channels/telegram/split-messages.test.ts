/** Several updates that are one message, whatever Telegram delivers together: albums, long texts, forwarded messages. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  CUT_FROM,
  FULL_TEXT,
  joinParts,
  MAX_ALBUM_PARTS,
  MAX_FORWARDS,
  MAX_TEXT_PARTS,
  SplitMessages,
} from '../../../channels/telegram/split-messages.ts';
import type { Received } from '../../../channels/telegram/split-messages.ts';
import { create } from '../../../channels/telegram/index.ts';
import type { InboundMessage } from '../../../src/contracts/message.ts';
import type { Receipt } from '../../../src/contracts/receive.ts';
import type { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { telegramConfig, telegramDeps } from './setup.ts';
import { startFake, WAIT } from './started.ts';

const picture = (fake: FakeTelegram, name: string, caption?: string): Record<string, unknown> => ({
  ...fake.files.document({ bytes: Buffer.from(name), name }),
  ...(caption !== undefined && { caption }),
});

/** What a gateway has stored: like its own, it knows a message again by its id. */
class Gateway {
  readonly stored = new Map<string, InboundMessage>();

  receive = async (message: InboundMessage): Promise<Receipt> => {
    const known = this.stored.get(message.id);
    if (known === undefined) {
      this.stored.set(message.id, message);
      return { kind: 'accepted', turnId: message.id, seq: 1, position: 0 };
    }
    const differs = JSON.stringify(known) !== JSON.stringify(message);
    return { kind: 'duplicate', turnId: message.id, seq: 1, ...(differs && { differs }) };
  };

  /** Texts and names of files, message by message. */
  get seen(): string[] {
    return [...this.stored.values()].map(({ content, media }) =>
      [content, ...media.map(({ name }) => name)].filter(Boolean).join(' '),
    );
  }
}

/** A channel that has been started; stopped after the test. */
async function start(
  fake: FakeTelegram,
  gateway: Gateway,
  partsMs = 520,
): Promise<{ stop(): Promise<void> }> {
  const channel = create(telegramConfig(fake.root), telegramDeps(), { backoffMs: 5, partsMs });
  onTestFinished(() => channel.stop());
  await channel.start(gateway.receive);
  return channel;
}

describe('an album', () => {
  it('is one message with all its files and texts, and the next message follows it', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const parts = [picture(fake, 'a.jpg'), picture(fake, 'b.jpg', 'look'), picture(fake, 'c.jpg')];
    fake.says('1', 'before', '1');
    fake.sendsAlbum('1', parts, '1');
    fake.says('1', 'after', '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual(['before', 'look a.jpg b.jpg c.jpg', 'after']);
  });

  it('waits for parts that come with a later poll, and nobody else waits for it', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(1), WAIT);
    fake.sends('1', { media_group_id: 'g', ...picture(fake, 'a.jpg') }, '1');
    await vi.waitFor(() => expect(fake.updates.waiting).toBe(0), WAIT);
    fake.says('2', 'hello', '2');
    fake.sends('1', { media_group_id: 'g', ...picture(fake, 'b.jpg') }, '1');
    await vi.waitFor(() => expect(gateway.seen).toEqual(['hello']), WAIT);
    expect(fake.updates.unconfirmed).toBe(3);
    await vi.waitFor(() => expect(gateway.seen).toEqual(['hello', 'a.jpg b.jpg']), WAIT);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
  });

  it('is whole after a stop between two of its parts: Telegram kept the first', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    fake.sends('1', { media_group_id: 'g', ...picture(fake, 'a.jpg', 'both') }, '1');
    const first = await start(fake, gateway, 60_000);
    await vi.waitFor(() => expect(fake.updates.polls).toBe(1), WAIT);
    await first.stop();
    expect(gateway.seen).toEqual([]);
    fake.sends('1', { media_group_id: 'g', ...picture(fake, 'b.jpg') }, '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(gateway.seen).toEqual(['both a.jpg b.jpg']), WAIT);
  });

  it('that was stored before its last parts came leaves them a message of their own, also after a crash', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const first = await start(fake, gateway);
    fake.sendsAlbum('1', [picture(fake, 'a.jpg'), picture(fake, 'b.jpg')], '1', 'g');
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    await first.stop();
    // The confirmation was lost, as when the process dies before it; two more parts come.
    for (let n = 0; n < 2; n += 1) fake.updates.unconfirm();
    for (const name of ['c.jpg', 'd.jpg'])
      fake.sends('1', { media_group_id: 'g', ...picture(fake, name) }, '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual(['a.jpg b.jpg', 'c.jpg d.jpg']);
  });
});

/** A message forwarded from a user of this name. */
const forward = (author: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  forward_origin: { type: 'hidden_user', sender_user_name: author, date: 1 },
  ...more,
});

describe('a text that was too long for one message', () => {
  it('is one message again: whole words where it was cut at a break, the same word where there was none', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const [full, cut] = ['x'.repeat(FULL_TEXT), 'y'.repeat(CUT_FROM)];
    for (const text of [full, cut, 'the end']) fake.says('1', text, '1');
    fake.says('1', 'another message', '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual([`${full}${cut}\nthe end`, 'another message']);
  });

  it('waits for its next part, and is stored whole when the gateway ends between the two', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const long = 'x'.repeat(CUT_FROM);
    fake.says('1', long, '1');
    const first = await start(fake, gateway, 60_000);
    await vi.waitFor(() => expect(fake.updates.polls).toBe(1), WAIT);
    await first.stop();
    expect(gateway.seen).toEqual([]);
    fake.says('1', 'and more', '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(gateway.seen).toEqual([`${long}\nand more`]), WAIT);
  });
});

describe('messages that are forwarded together', () => {
  it('are one message that names their authors; what was written beside them stays its own', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    fake.says('1', 'what do they want?', '1');
    fake.says('1', 'Lunch?', '1', { fields: forward('Ada') });
    fake.sends('1', forward('Bob', picture(fake, 'menu.jpg', 'here')), '1');
    fake.says('1', 'and a comment', '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual(['what do they want?', 'Ada: Lunch?\nBob: here menu.jpg', 'and a comment']);
    expect([...gateway.stored.values()][1]).toMatchObject({ forwarded: true, forwardedFrom: 'Ada, Bob' });
  });

  it('are stored without the ones that come later, after a crash, too', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const first = await start(fake, gateway);
    for (const text of ['one', 'two']) fake.says('1', text, '1', { fields: forward('Ada') });
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    await first.stop();
    for (let n = 0; n < 2; n += 1) fake.updates.unconfirm();
    fake.says('1', 'three', '1', { fields: forward('Ada') });
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual(['one\ntwo', 'three']);
  });
});

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
  /** The ids of the parts of each message that the batch is, whole or not. */
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

  it('of a text are no command, reply, file, press or forwarded message, come soon, and from the same person', () => {
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

  it(`are at most ${MAX_TEXT_PARTS} of a text; the next one begins another message`, () => {
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
    expect(five.forwardedFrom).toBe('A, B, somebody else and 2 others');
    expect(five.content).toBe('A: text 1\nB: text 2\nsomebody else: text 3\nD: text 4\nE: text 5');
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

  it('are whole when none came since the last poll, counted anew with each that came', () => {
    const split = new SplitMessages();
    const open = [2, 3, 1, 3, 3].map((count) => split.collect(parts(count)).open.length);
    expect(open).toEqual([2, 3, 1, 3, 0]);
  });

  it('do not wait once their chat goes on, whatever other chats do', () => {
    const later = (chatId: string): Received => ({ ...part(9, { chatId }), album: undefined });
    expect(new SplitMessages().collect([...parts(2), later('2')]).open).toHaveLength(2);
    expect(new SplitMessages().collect([...parts(2), later('1')]).open).toEqual([]);
  });

  it('call the bot when one does, and are forwarded when one is', () => {
    const named = part(2, { mentioned: true, content: 'you' });
    const message = joinParts([part(1, { content: 'hey' }), named, part(3, { forwarded: true })]);
    expect(message).toMatchObject({ id: 'b:1', content: 'hey\nyou', mentioned: true, forwarded: true });
    expect(joinParts([part(1), part(2)]).forwarded).toBeUndefined();
  });
});
