/** What is stored of groups in addition to their turns. */
import { describe, expect, it } from 'vitest';
import {
  BOT_QUIET_MS,
  BOT_TURNS,
  BOT_WINDOW_MS,
  type BotTalk,
  judgeBot,
  MAX_OBSERVED,
} from '../../../src/protocol/store/group-chats.ts';
import { describeStore, type TestStore } from '../../database.ts';

const CHAT = { channel: 'telegram', chatId: '-50' };

describe('bots in a chat', () => {
  /** The verdicts on messages at these times, each with its own id. */
  function verdicts(times: readonly number[]): string[] {
    let talk: BotTalk = { turns: [] };
    return times.map((at, n) => {
      const judged = judgeBot(talk, `m${n}`, at);
      ({ talk } = judged);
      expect(talk.turns.length).toBeLessThanOrEqual(BOT_TURNS);
      return judged.verdict;
    });
  }
  const steps = (count: number, every: number): number[] =>
    Array.from({ length: count }, (_, n) => n * every);

  it(`are answered ${BOT_TURNS} times in the window, then notified once, then not answered`, () => {
    const all = verdicts(steps(BOT_TURNS + 3, 1_000));
    expect(all.slice(0, BOT_TURNS)).toEqual(Array(BOT_TURNS).fill('answered'));
    expect(all.slice(BOT_TURNS)).toEqual(['quiet_begins', 'quiet', 'quiet']);
  });

  it('are always answered when they write more slowly, and again after the quiet time', () => {
    const slow = verdicts(steps(100, BOT_WINDOW_MS / BOT_TURNS));
    expect(new Set(slow)).toEqual(new Set(['answered']));
    const times = [...Array<number>(BOT_TURNS + 1).fill(0), BOT_QUIET_MS - 1, BOT_QUIET_MS];
    expect(verdicts(times).slice(-3)).toEqual(['quiet_begins', 'quiet', 'answered']);
  });
});

describeStore('a group', (databases) => {
  const keep = (store: TestStore, id: string, content = id) =>
    store.groupChats.keepObserved(CHAT, 'telegram:-50', [{ id, senderId: 'bo', senderName: 'Bo', content }]);
  const kept = async (store: TestStore): Promise<string[]> => {
    const rows = await store.sql<{ content: string }[]>`select content from observed order by id`;
    return rows.map(({ content }) => content);
  };

  it('is observed once a user turns it on; turning it off deletes what was kept', async () => {
    const store = await databases.open();
    expect(await store.groupChats.observes(CHAT)).toBeUndefined();
    await store.groupChats.setObserving(CHAT, true);
    expect(await store.groupChats.observes(CHAT)).toBe(true);
    await keep(store, 'a');
    await store.groupChats.setObserving(CHAT, false);
    expect(await store.groupChats.observes(CHAT)).toBe(false);
    expect(await kept(store)).toEqual([]);
  });

  it(`keeps the last ${MAX_OBSERVED} messages of a session, each once, and none of a deleted session`, async () => {
    const store = await databases.open();
    for (let n = 0; n < MAX_OBSERVED + 3; n += 1) await keep(store, `m${n}`);
    await keep(store, `m${MAX_OBSERVED + 2}`, 'said again');
    const texts = await kept(store);
    expect(texts).toHaveLength(MAX_OBSERVED);
    expect([texts[0], texts.at(-1)]).toEqual(['m3', `m${MAX_OBSERVED + 2}`]);
    await store.ledger.deleteSession('telegram:-50');
    expect(await kept(store)).toEqual([]);
  });

  it(`keeps many at once in their order, and no more than ${MAX_OBSERVED}`, async () => {
    const store = await databases.open();
    await keep(store, 'm1');
    const said = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => ({
        id: `m${from + n}`,
        senderId: 'bo',
        senderName: 'Bo',
        content: `m${from + n}`,
      }));
    await store.groupChats.keepObserved(CHAT, 'telegram:-50', said(0, 3));
    expect(await kept(store)).toEqual(['m1', 'm0', 'm2']);
    await store.groupChats.keepObserved(CHAT, 'telegram:-50', said(10, MAX_OBSERVED - 1));
    expect(await kept(store)).toEqual(['m2', ...said(10, MAX_OBSERVED - 1).map(({ id }) => id)]);
    await store.groupChats.keepObserved(CHAT, 'telegram:-50', []);
    expect(await kept(store)).toHaveLength(MAX_OBSERVED);
  });

  it('reads the newest text of a message that was edited, and forgets one that was deleted', async () => {
    const store = await databases.open();
    const other = { channel: 'telegram', chatId: '-51' };
    await keep(store, '1', 'King');
    await keep(store, '2', 'gone soon');
    // A second chat of the same session numbers its messages alike.
    await store.groupChats.keepObserved(other, 'telegram:-50', [
      { id: '1', senderId: 'bo', senderName: 'Bo', content: 'Queen' },
    ]);
    const edit = (id: string, content: string, senderId = 'bo') =>
      store.groupChats.editObserved(CHAT, { id, senderId, content });
    await edit('1', 'King Arthur');
    await edit('9', 'never kept');
    // On Matrix anyone can send what looks like an edit of anything.
    await edit('1', 'Mordred', 'mallory');
    await store.groupChats.removeObserved(CHAT, ['2', '9']);
    await store.groupChats.removeObserved(other, ['2']);
    expect(await kept(store)).toEqual(['King Arthur', 'Queen']);
  });

  it('counts bot messages across restarts, one by one, and a repeated one once', async () => {
    const store = await databases.open();
    const admit = (n: number) => store.groupChats.admitBot(CHAT, `b${n}`);
    const raced = await Promise.all(Array.from({ length: BOT_TURNS }, (_, n) => admit(n)));
    expect(new Set(raced)).toEqual(new Set(['answered']));
    expect(await admit(0)).toBe('answered');
    expect([await admit(90), await admit(90), await admit(91)]).toEqual([
      'quiet_begins',
      'quiet_begins',
      'quiet',
    ]);
    expect(await store.groupChats.admitBot({ ...CHAT, chatId: '-51' }, 'b1')).toBe('answered');
  });
});
