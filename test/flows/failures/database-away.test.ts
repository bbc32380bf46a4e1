/** The database goes away at the moment Telegram answers the first send of a reply: one message, complete. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { campaignCases } from '../../campaign.ts';
import { serverDatabase } from '../../crash/databases.ts';
import { serverUrl } from '../../database.ts';
import { FRIENDS } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

const LONG_WAIT = { timeout: 60_000, interval: 50 };
const CHATS = FRIENDS.slice(0, 6);
const ANSWER = Array.from({ length: 60 }, (_, nth) => `word${nth}`).join(' ');

/** A gateway on Postgres behind a proxy, with Telegram; everything ends with the test. */
async function openGateway() {
  let asked = 0;
  const database = await serverDatabase(serverUrl(), 1);
  const { telegram, ollama, start } = await telegramProcess({
    environment: database.environment(0),
    // The first answer of each chat arrives when the database is away, the others at once.
    model: { fallback: () => ({ text: ANSWER, perSecond: 20, hold: asked++ < CHATS.length }) },
    others: [database],
  });
  await start();
  const [proxy] = database.proxies;
  if (proxy === undefined) throw new Error('There is no proxy.');
  return { telegram, ollama, proxy, database };
}

// From 9 s on two messages used to stay on screen: the lease of 10 s was lost before the id could be stored.
describe('first messages whose ids cannot be stored', () => {
  it.each(campaignCases([14, 9], 1))(
    'remain the only ones when the database is away for %i s',
    async (seconds) => {
      const { telegram, ollama, proxy, database } = await openGateway();
      for (const chat of CHATS) telegram.says(chat, `question ${chat}`, chat);
      await vi.waitFor(() => expect(ollama.active).toBe(CHATS.length), LONG_WAIT);
      proxy.refuse();
      for (const call of ollama.calls) call.release();
      await vi.waitFor(() => expect(telegram.count('sendMessage')).toBeGreaterThan(0), LONG_WAIT);
      await pause(seconds * 1_000);
      proxy.restore();
      await vi.waitFor(() => {
        for (const chat of CHATS) expect(telegram.screen(chat)).toContainEqual(ANSWER);
      }, LONG_WAIT);
      await vi.waitFor(() => {
        for (const chat of CHATS) expect(telegram.screen(chat)).toEqual([ANSWER]);
      }, LONG_WAIT);
      expect(telegram.count('sendMessage')).toBe(CHATS.length);
      // The process lived on: nothing that it ran is to blame.
      expect(await database.read((sql) => sql`select lane from lane_item where crashes > 0`)).toEqual([]);
    },
    120_000,
  );
});
