/** Albums: several updates that are one message, whatever Telegram delivers together. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Albums, joinParts, MAX_ALBUM_PARTS } from '../../../channels/telegram/albums.ts';
import type { Received } from '../../../channels/telegram/albums.ts';
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
  albumMs = 520,
): Promise<{ stop(): Promise<void> }> {
  const channel = create(telegramConfig(fake.root), telegramDeps(), { backoffMs: 5, albumMs });
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
    const albums = new Albums();
    expect(albums.collect(parts(MAX_ALBUM_PARTS - 1))).toMatchObject({ whole: [], open: { length: 9 } });
    expect(albums.collect(parts(MAX_ALBUM_PARTS))).toMatchObject({ whole: [{ length: 10 }], open: [] });
  });

  it('are whole when none came since the last poll, counted anew with each that came', () => {
    const albums = new Albums();
    const open = [2, 3, 1, 3, 3].map((count) => albums.collect(parts(count)).open.length);
    expect(open).toEqual([2, 3, 1, 3, 0]);
  });

  it('do not wait once their chat goes on, whatever other chats do', () => {
    const later = (chatId: string): Received => ({ ...part(9, { chatId }), album: undefined });
    expect(new Albums().collect([...parts(2), later('2')]).open).toHaveLength(2);
    expect(new Albums().collect([...parts(2), later('1')]).open).toEqual([]);
  });

  it('call the bot when one does, and are forwarded when one is', () => {
    const named = part(2, { mentioned: true, content: 'you' });
    const message = joinParts([part(1, { content: 'hey' }), named, part(3, { forwarded: true })]);
    expect(message).toMatchObject({ id: 'b:1', content: 'hey\nyou', mentioned: true, forwarded: true });
    expect(joinParts([part(1), part(2)]).forwarded).toBeUndefined();
  });
});
