/** Buttons on Telegram and Discord: sent, kept and removed with their message; a press is committed before it is answered. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { create } from '../../channels/telegram/index.ts';
import type { Channel, OutboundPart } from '../../src/protocol/channel.ts';
import { StoreError } from '../../src/protocol/errors.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import type { Button, InboundMessage } from '../../src/protocol/message.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { DiscordSetup } from '../fakes/discord/setup.ts';
import { FakeTelegram } from '../fakes/telegram/telegram.ts';
import { telegramConfig, telegramDeps } from './telegram/setup.ts';

const WAIT = { timeout: 8_000, interval: 5 };
const BUTTONS: Button[] = [
  { label: 'Approve', value: 'approve:abc', style: 'confirm' },
  { label: 'Deny', value: 'deny:abc', style: 'danger' },
];
const handled = (reply: string): Receipt => ({ kind: 'handled', reply });

describe('buttons on Telegram', () => {
  let fake: FakeTelegram;
  let channel: Channel;
  let received: InboundMessage[] = [];
  let verdict: () => Promise<Receipt>;

  beforeEach(async () => {
    received = [];
    verdict = () => Promise.resolve(handled('Approved.'));
    fake = await FakeTelegram.start();
    fake.chats.open('42');
    const timing = { backoffMs: 5, backoffCapMs: 20 };
    channel = create(telegramConfig(fake.root), telegramDeps(), timing);
  });
  afterEach(async () => {
    await channel.stop();
    await fake.close();
  });

  const start = (): Promise<void> =>
    channel.start(async (message) => {
      received.push(message);
      return await verdict();
    });
  const part = (text: string, buttons: Button[]): OutboundPart => {
    const body = channel.render(parseMarkdown(text));
    return { channel: 'telegram', chatId: '42', body, buttons, nonce: 'n' };
  };
  const seen = () => fake.messages('42').map(({ buttons }) => buttons.map(({ text }) => text));
  const answered = (press: string) =>
    vi.waitFor(() => expect(fake.pressed.answers.has(press)).toBe(true), WAIT);

  it('stay through edits with buttons, and disappear with the first edit without', async () => {
    const sent = await channel.send(part('May I?', BUTTONS));
    expect(seen()).toEqual([['Approve', 'Deny']]);
    await channel.edit?.(sent, part('May I, please?', BUTTONS));
    expect(seen()).toEqual([['Approve', 'Deny']]);
    await channel.edit?.(sent, part('May I, please?', []));
    expect(seen()).toEqual([[]]);
  });

  it("arrive as presses of their chat, and are answered with the receipt's reply", async () => {
    await channel.send(part('May I?', BUTTONS));
    await start();
    const press = fake.press('42', 'Approve', '7');
    await answered(press);
    expect(fake.pressed.answers.get(press)).toBe('Approved.');
    expect(received).toMatchObject([
      { button: 'approve:abc', content: '', chatId: '42', senderId: '7', place: 'private', mentioned: true },
    ]);
  });

  it('are answered only after the commit, and received again when the store was unavailable', async () => {
    await channel.send(part('May I?', BUTTONS));
    let away = 2;
    verdict = async () => {
      away -= 1;
      if (away >= 0) throw new StoreError('unavailable', 'The store is away.', { retryable: true });
      return handled('Approved.');
    };
    await start();
    const press = fake.press('42', 'Approve', '42');
    await vi.waitFor(() => expect(received.length).toBeGreaterThan(1), WAIT);
    await answered(press);
    expect(received.length).toBe(3);
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  });

  it('answer a refused press with a reason, in as many characters as fit', async () => {
    await channel.send(part('May I?', BUTTONS));
    verdict = () => Promise.resolve({ kind: 'refused', code: 'denied' });
    await start();
    const refused = fake.press('42', 'Deny', '9');
    await answered(refused);
    expect(fake.pressed.answers.get(refused)).toBe('This bot does not answer you here.');
    verdict = () => Promise.resolve(handled('x'.repeat(500)));
    const long = fake.press('42', 'Deny', '9');
    await answered(long);
    expect(fake.pressed.answers.get(long)).toBe('x'.repeat(200));
  });

  it('are refused by the platform when their data does not fit', async () => {
    const tooMuch = [{ label: 'Go', value: 'ä'.repeat(33) }];
    await expect(channel.send(part('May I?', tooMuch))).rejects.toMatchObject({ code: 'rejected' });
    await expect(channel.send(part('May I?', [{ label: '', value: 'x' }]))).rejects.toMatchObject({
      code: 'rejected',
    });
    expect(seen()).toEqual([]);
  });

  it('marks forwarded messages, and only those', async () => {
    verdict = () => Promise.resolve({ kind: 'accepted', turnId: 't', seq: 1, position: 0 });
    await start();
    fake.says('42', 'run rm -rf', '42', { fields: { forward_origin: { type: 'hidden_user', date: 1 } } });
    fake.says('42', 'my own words', '42');
    await vi.waitFor(
      () => expect(received.map(({ forwarded }) => forwarded)).toEqual([true, undefined]),
      WAIT,
    );
  });
});

describe('buttons on Discord', () => {
  let gateway: DiscordSetup;

  beforeEach(async () => {
    gateway = await DiscordSetup.open();
  });
  afterEach(async () => {
    await gateway.close();
  });

  const withQuestion = async () => {
    const { channel, person } = gateway.discord.dm();
    const part = (text: string, buttons: Button[]) => ({ ...gateway.part(channel.id, text), buttons });
    const sent = await gateway.channel.send(part('May I?', BUTTONS));
    const labels = () =>
      gateway.discord.visible(channel).map(({ buttons }) => buttons.map(({ label }) => label));
    return { channel, person, sent, labels, part };
  };

  it('stay through edits with buttons, and disappear with the first edit without', async () => {
    const { sent, labels, part } = await withQuestion();
    expect(labels()).toEqual([['Approve', 'Deny']]);
    await gateway.channel.edit?.(sent, part('May I, please?', BUTTONS));
    expect(labels()).toEqual([['Approve', 'Deny']]);
    await gateway.channel.edit?.(sent, part('Done.', []));
    expect(labels()).toEqual([[]]);
  });

  it('arrive as presses, and only the person who pressed sees the reply', async () => {
    gateway.verdict = () => Promise.resolve(handled('Approved.'));
    await gateway.start();
    const { channel, person } = await withQuestion();
    const id = gateway.discord.press(channel, 'Approve', person);
    await vi.waitFor(() => expect(gateway.discord.screen(channel, person)).toContain('Approved.'), WAIT);
    expect(gateway.discord.screen(channel)).toEqual(['May I?']);
    expect(gateway.received).toMatchObject([
      { id, button: 'approve:abc', content: '', chatId: channel.id, senderId: person.id, place: 'private' },
    ]);
  });

  it('are acknowledged within three seconds even if the store is slow, hidden from others', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    gateway.verdict = () => promise;
    await gateway.start();
    const { channel, person } = await withQuestion();
    gateway.discord.press(channel, 'Deny', person);
    const thinking = 'Parley is thinking...';
    await vi.waitFor(() => expect(gateway.discord.screen(channel, person)).toContain(thinking), WAIT);
    expect(gateway.discord.screen(channel)).toEqual(['May I?']);
    resolve(handled('Denied.'));
    await vi.waitFor(() => expect(gateway.discord.screen(channel, person)).toContain('Denied.'), WAIT);
  });

  it('are refused by the platform when they do not fit', async () => {
    const { part, labels } = await withQuestion();
    const send = (buttons: Button[]) => gateway.channel.send(part(`${buttons.length}`, buttons));
    const wrong = [
      [{ label: 'Go', value: 'x'.repeat(101) }],
      [{ label: 'x'.repeat(81), value: 'x' }],
      [BUTTONS[0]!, BUTTONS[0]!],
    ];
    for (const buttons of wrong) await expect(send(buttons)).rejects.toMatchObject({ code: 'rejected' });
    const many = Array.from({ length: 7 }, (_, n) => ({ label: `${n}`, value: `v${n}` }));
    await send(many);
    expect(labels().at(-1)).toHaveLength(7);
  });
});
