/** Several updates that are one message, whatever Telegram delivers together: albums, long texts, forwarded messages. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CUT_FROM, FULL_TEXT } from '../../../../channels/telegram/receiving/split-messages.ts';
import { create } from '../../../../channels/telegram/index.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';
import type { Receipt } from '../../../../src/protocol/receive.ts';
import type { FakeTelegram } from '../../../fakes/telegram/telegram.ts';
import { telegramConfig, telegramDeps } from '../setup.ts';
import { startFake, WAIT } from '../started.ts';

const picture = (fake: FakeTelegram, name: string, caption?: string): Record<string, unknown> => ({
  ...fake.files.document({ bytes: Buffer.from(name), name }),
  ...(caption !== undefined && { caption }),
});

/** What a gateway has stored: like a real one, it recognizes a repeated message by its id. */
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

  it('waits for parts that arrive with a later poll, and no one else waits for it', async () => {
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

  it('is complete after a stop between two of its parts: Telegram kept the first', async () => {
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

  it('that was stored before its last parts arrived makes them a separate message, even after a crash', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const first = await start(fake, gateway);
    fake.sendsAlbum('1', [picture(fake, 'a.jpg'), picture(fake, 'b.jpg')], '1', 'g');
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    await first.stop();
    // The confirmation was lost, as when the process dies before it; two more parts arrive.
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
  it('is one message again: whole words if it was cut at a break, the same word if there was none', async () => {
    const fake = await startFake();
    const gateway = new Gateway();
    const [full, cut] = ['x'.repeat(FULL_TEXT), 'y'.repeat(CUT_FROM)];
    for (const text of [full, cut, 'the end']) fake.says('1', text, '1');
    fake.says('1', 'another message', '1');
    await start(fake, gateway);
    await vi.waitFor(() => expect(fake.updates.unconfirmed).toBe(0), WAIT);
    expect(gateway.seen).toEqual([`${full}${cut}\nthe end`, 'another message']);
  });

  it('waits for its next part, and is stored completely when the gateway ends between the two', async () => {
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
  it("are one message that names their authors; what was written alongside stays the sender's own", async () => {
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

  it('are stored without the ones that arrive later, after a crash, too', async () => {
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
