/** How answers flow under load, against limits that the gateway does not know: order, pace, and what it learns. */
import { describe, expect, it } from 'vitest';
import { runsAll } from '../../campaign.ts';
import { manifest } from '../../../channels/telegram/manifest.ts';
import { type Flow, quantile, simulate, summary, telegramDrafts, type Traffic } from './traffic.ts';

/** 64 chats begin within three seconds; 250 tokens each, 40 a second. */
const BUSY: Traffic = { chats: 64, withinMs: 3_000, firstTokenMs: 300, tokens: 250, tokenMs: 25 };
const UNLIMITED = Number.POSITIVE_INFINITY;

/** A refusal asks for three seconds; with `bansBot` it applies to every chat. */
const hidden = (callsPerSecond: number, chatMs = 0, bansBot = false): Pick<Traffic, 'limits'> => ({
  limits: {
    chatIntervalMs: () => chatMs,
    callsPerSecond: () => callsPerSecond,
    retryAfterMs: 3_000,
    bansBot,
  },
});

/**
 * Every answer is complete on screen, no call showed what was already there, and none came within the pause of a
 * refusal.
 */
const FAULTLESS = { wrong: 0, sameText: 0, early: 0 };

describe('64 chats that stream at once', () => {
  it('see their first words about half a second late, and their last ones immediately', async () => {
    const flow = await simulate(BUSY);
    expect(flow).toMatchObject({ ...FAULTLESS, refused: 0 });
    expect(quantile(flow.first, 0.5)).toBeLessThanOrEqual(520);
    expect(quantile(flow.first, 0.99)).toBeLessThanOrEqual(700);
    expect(quantile(flow.final, 0.99)).toBeLessThanOrEqual(300);
  });

  it('are refused less than once in a hundred calls at the limits that Telegram documents', async () => {
    const flow = await simulate({ ...BUSY, ...hidden(30, 1_000) });
    expect(flow).toMatchObject(FAULTLESS);
    expect(flow.refused / flow.calls).toBeLessThan(0.01);
    expect(quantile(flow.final, 1)).toBeLessThanOrEqual(5_000);
  });

  it('get every answer from a platform that refuses the whole bot for a while', async () => {
    const flow = await simulate({ ...BUSY, ...hidden(20, 0, true) });
    expect(flow).toMatchObject(FAULTLESS);
    expect(flow.refused).toBeLessThanOrEqual(20);
    expect(quantile(flow.final, 1)).toBeLessThanOrEqual(5_000);
  });

  it('detect a lower limit of the bot, and wait for nothing longer than a few seconds', async () => {
    for (const turns of [1, 2]) {
      const flow = await simulate({ ...BUSY, turns, ...hidden(20) });
      expect(flow).toMatchObject(FAULTLESS);
      expect(flow.refused / flow.calls).toBeLessThan(0.01);
      expect(quantile(flow.final, 1)).toBeLessThanOrEqual(5_000);
    }
  });
});

describe('drafts, which are not the default because of what these show,', () => {
  const limited = { ...BUSY, ...hidden(30, 1_000) };
  const drafts = telegramDrafts();
  if (drafts === undefined) throw new Error('Telegram has no drafts');

  it('take fewer calls than messages that grow, and none of them is refused', async () => {
    const [grown, drafted] = [await simulate(limited), await simulate({ ...limited, drafts })];
    expect(drafted).toMatchObject({ ...FAULTLESS, refused: 0 });
    expect(drafted.calls).toBeLessThan(grown.calls);
    expect(quantile(drafted.final, 1)).toBeLessThanOrEqual(5_000);
  });

  it('show their first words later than messages that grow, alone and with others', async () => {
    for (const traffic of [{ ...limited, chats: 1 }, limited]) {
      const [grown, drafted] = [await simulate(traffic), await simulate({ ...traffic, drafts })];
      expect(quantile(drafted.first, 0.5)).toBeGreaterThan(2 * quantile(grown.first, 0.5));
    }
    expect(manifest.settings.parse({}).stream).toBe('edit');
  });
});

describe('eight new chats a second, about 45 streams at once', () => {
  it('see their first words as soon as there are enough of them', async () => {
    const flow = await simulate({ chats: 120, withinMs: 15_000, firstTokenMs: 50, tokens: 200, tokenMs: 25 });
    expect(flow).toMatchObject({ ...FAULTLESS, refused: 0 });
    expect(quantile(flow.first, 0.5)).toBeLessThanOrEqual(350);
    expect(quantile(flow.first, 0.99)).toBeLessThanOrEqual(600);
    expect(quantile(flow.final, 0.99)).toBeLessThanOrEqual(300);
  });
});

describe('256 chats that stream at once', () => {
  it('starve no final and no first message', async () => {
    const flow = await simulate({ ...BUSY, chats: 256, tokens: 60, tokenMs: 100 });
    expect(flow).toMatchObject({ ...FAULTLESS, refused: 0 });
    expect(quantile(flow.final, 1)).toBeLessThanOrEqual(10_000);
    expect(quantile(flow.first, 1)).toBeLessThanOrEqual(15_000);
  });
});

describe('100 chats streaming against hidden limits', () => {
  it('delay no final for long and are refused less than once in a hundred calls (budget 9)', async () => {
    const flow = await simulate({
      chats: 100,
      withinMs: 10_000,
      turns: 3,
      firstTokenMs: 300,
      tokens: 70,
      tokenMs: 500,
      // Some chats are slower than declared, and the bot's limit drops below its rate for a while.
      limits: {
        chatIntervalMs: (chatId) => (Number(chatId) % 20 === 0 ? 2_000 : 250),
        callsPerSecond: (now) => (now > 90_000 && now < 120_000 ? 18 : 30),
      },
    });
    expect(flow).toMatchObject(FAULTLESS);
    expect(flow.calls).toBeGreaterThan(2_000);
    expect(flow.refused / flow.calls).toBeLessThan(0.01);
    expect(quantile(flow.final, 1)).toBeLessThanOrEqual(15_000);
  });
});

/** The table of campaigns: as busy as can be, against limits above, at and below the documented ones. */
const TABLE: [name: string, traffic: Traffic][] = [
  ['64 chats, no limit', BUSY],
  ['64 chats, 30/s and 1/s a chat', { ...BUSY, ...hidden(30, 1_000) }],
  ['64 chats, four turns, 30/s and 1/s a chat', { ...BUSY, turns: 4, ...hidden(30, 1_000) }],
  ['64 chats, six turns, 60/s', { ...BUSY, turns: 6, ...hidden(60) }],
  ['64 chats, 20/s', { ...BUSY, ...hidden(20) }],
  ['64 chats, six turns, 20/s', { ...BUSY, turns: 6, ...hidden(20) }],
  ['64 chats, 20/s, else a ban of the bot', { ...BUSY, ...hidden(20, 0, true) }],
  [
    '64 chats, four turns, 30/s and 1/s a chat, else a ban',
    { ...BUSY, turns: 4, ...hidden(30, 1_000, true) },
  ],
  [
    '8 new chats a second for 15 s',
    { chats: 120, withinMs: 15_000, firstTokenMs: 50, tokens: 200, tokenMs: 25 },
  ],
  ['256 chats, no limit', { ...BUSY, chats: 256, ...hidden(UNLIMITED) }],
  ['30 groups, four turns, no limit', { ...BUSY, chats: 30, turns: 4, chatId: (nth) => `-${1_000 + nth}` }],
];

it.each(runsAll ? TABLE : [])('%s: figures', async (name, traffic) => {
  const flow: Flow = await simulate(traffic);
  process.stdout.write(`${name}: ${summary(flow)}\n`);
  expect(flow).toMatchObject(FAULTLESS);
});
