/** Bounds of what the Discord channel keeps in memory. */
import pino from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { Inbox, MAX_CHATS } from '../../../channels/discord/inbox.ts';
import { readMessage } from '../../../channels/discord/inbound.ts';
import type { RawMessage } from '../../../channels/discord/inbound.ts';
import { MAX_PAUSES, BucketPauses } from '../../../channels/discord/bucket-pauses.ts';
import { ACCEPTED } from '../../fakes/discord/setup.ts';

const id = (n: number): string => String(1_000_000_000_000_000_000n + BigInt(n));

function message(channel: number, n: number): RawMessage {
  const read = readMessage({
    id: id(n),
    channel_id: id(channel),
    author: { id: id(1) },
    content: `word ${n}`,
    timestamp: '2026-01-01T00:00:00Z',
    type: 0,
  });
  if (read === undefined) throw new Error('not a message');
  return read;
}

describe('the inbox', () => {
  const stop = new AbortController();

  it(`closes gaps only in the ${MAX_CHATS} chats that were active last`, async () => {
    const read: string[] = [];
    let published = 0;
    const inbox = new Inbox({
      history: {
        kindOf: () => Promise.resolve({ place: 'group' }),
        // eslint-disable-next-line require-yield
        async *after(chatId) {
          await Promise.resolve();
          read.push(chatId);
        },
      },
      log: pino({ level: 'silent' }),
      signal: stop.signal,
      botId: () => '2',
      publish: () => {
        published += 1;
        return Promise.resolve(ACCEPTED);
      },
    });
    for (let n = 0; n <= MAX_CHATS; n += 1) {
      inbox.push(message(n, n));
      await vi.waitFor(() => expect(published).toBe(n + 1), { interval: 0 });
    }
    inbox.closeGap();
    await vi.waitFor(() => expect(read).toHaveLength(MAX_CHATS));
    expect(read).not.toContain(id(0));
    stop.abort();
    await inbox.close([]);
  });

  it('leaves no message waiting that arrives while the last one is being finished', async () => {
    const running = new AbortController();
    const received: string[] = [];
    const inbox = new Inbox({
      history: { kindOf: () => Promise.resolve({ place: 'group' }), async *after() {} },
      log: pino({ level: 'silent' }),
      signal: running.signal,
      botId: () => '2',
      publish: (inbound) => {
        received.push(inbound.content);
        return Promise.resolve(ACCEPTED);
      },
    });
    for (let ticks = 0; ticks < 20; ticks += 1) {
      inbox.push(message(1, 2 * ticks));
      for (let i = 0; i < ticks; i += 1) await Promise.resolve();
      inbox.push(message(1, 2 * ticks + 1));
      await vi.waitFor(() => expect(received).toHaveLength(2 * ticks + 2), { timeout: 200 });
    }
    running.abort();
    await inbox.close([]);
  });
});

describe('the pauses Discord asked for', () => {
  it(`are remembered for ${MAX_PAUSES} buckets; the oldest is forgotten first`, () => {
    let now = 0;
    const pauses = new BucketPauses(() => now);
    for (let n = 0; n < MAX_PAUSES; n += 1) pauses.pause(`b ${n}`, 100);
    expect(pauses.left('b 0')).toBe(100);
    pauses.pause('one more', 100);
    expect([pauses.left('b 0'), pauses.left('b 1'), pauses.left('one more')]).toEqual([0, 100, 100]);
    now = 100;
    expect(pauses.left('b 1')).toBe(0);
  });
});
