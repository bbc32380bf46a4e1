/** Posted updates: accepted once, in order, and no more than there is room for. */
import { expect, it } from 'vitest';
import { MAX_WAITING_UPDATES } from '../../../src/protocol/receive.ts';
import { describeStore } from '../../database.ts';

const BOT = 'telegram:42';

describeStore('posted updates', (databases) => {
  it('wait in the order of their ids until they are finished, and are remembered afterwards', async () => {
    const { updates } = await databases.open();
    const text = 'NUL \u0000 and half a pair \ud800';
    for (const id of [12, 10, 11])
      expect(await updates.storeUpdate(BOT, { id, update: { id, text } })).toBe('stored');
    expect(await updates.waitingUpdates(BOT, 2)).toEqual(
      [10, 11].map((id) => ({ id, update: { id, text } })),
    );
    expect(await updates.waitingUpdates('telegram:43', 2)).toEqual([]);
    await updates.finishUpdates(BOT, [10, 12]);
    expect((await updates.waitingUpdates(BOT, 9)).map(({ id }) => id)).toEqual([11]);
    for (const id of [10, 11, 12])
      expect(await updates.storeUpdate(BOT, { id, update: {} })).toBe('repeated');
    expect((await updates.waitingUpdates(BOT, 9)).map(({ id }) => id)).toEqual([11]);
  });

  it('are stored once when several nodes receive the same one', async () => {
    const { updates } = await databases.open();
    const stored = await Promise.all(
      Array.from({ length: 8 }, () => updates.storeUpdate(BOT, { id: 1, update: {} })),
    );
    expect(stored.filter((one) => one === 'stored')).toHaveLength(1);
  });

  it('are refused once too many wait, and accepted again when one is finished', async () => {
    const { updates, sql } = await databases.open();
    await sql`insert into platform_update (bot, id, body)
      select ${BOT}, n, '{}' from generate_series(1, ${MAX_WAITING_UPDATES - 1}) n`;
    expect(await updates.storeUpdate(BOT, { id: 20_000, update: {} })).toBe('stored');
    expect(await updates.storeUpdate(BOT, { id: 20_001, update: {} })).toBe('full');
    expect(await updates.storeUpdate(BOT, { id: 5, update: {} })).toBe('repeated');
    await updates.finishUpdates(BOT, [5]);
    expect(await updates.storeUpdate(BOT, { id: 20_001, update: {} })).toBe('stored');
  });

  it('are forgotten a day after they were finished', async () => {
    const { updates, sql } = await databases.open();
    for (const id of [1, 2, 3]) await updates.storeUpdate(BOT, { id, update: {} });
    await updates.finishUpdates(BOT, [1, 2]);
    await sql`update platform_update set at = now() - interval '25 hours' where id = 1`;
    await updates.finishUpdates(BOT, [3]);
    expect((await sql`select id from platform_update order by id`).map(({ id }) => Number(id))).toEqual([
      2, 3,
    ]);
  });
});

describeStore('settings of chats', (databases) => {
  it('are kept, replaced, expired and removed', async () => {
    const { chatSettings, sql } = await databases.open();
    expect(await chatSettings.chatSetting('telegram:1', 'stream')).toBeUndefined();
    await chatSettings.setChatSetting('telegram:1', 'stream', 'off');
    await chatSettings.setChatSetting('telegram:1', 'stream', 'edit');
    await chatSettings.setChatSetting('telegram:1', 'rich', 'refused', 60_000);
    expect(await chatSettings.chatSetting('telegram:1', 'stream')).toBe('edit');
    expect(await chatSettings.chatSetting('telegram:1', 'rich')).toBe('refused');
    await sql`update chat_setting set until = now() where name = 'rich'`;
    expect(await chatSettings.chatSetting('telegram:1', 'rich')).toBeUndefined();
    await chatSettings.setChatSetting('telegram:1:7', 'topic', 'open', 60_000);
    // Expired ones are deleted when the next temporary one is stored.
    expect(await sql`select name from chat_setting order by name`).toEqual([
      { name: 'stream' },
      { name: 'topic' },
    ]);
    await chatSettings.setChatSetting('telegram:1', 'stream', undefined);
    expect(await chatSettings.chatSetting('telegram:1', 'stream')).toBeUndefined();
  });
});
