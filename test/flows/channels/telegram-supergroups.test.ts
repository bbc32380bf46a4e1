/** Groups on Telegram that become supergroups, and groups in which Telegram refuses reactions. */
import { expect, it, vi } from 'vitest';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, WAIT } from '../setup.ts';

const NAME = `@${FAKE_BOT.username}`;
const file = { access: { telegram: { groups: { '-4207': {}, '-4208': { mention: false } } } } };

describeGateway('A group on Telegram', { telegram: true, file }, (fixture) => {
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const idle = (chat: string): Promise<void> => fixture().idle(`telegram:${chat}`);

  it('that becomes a supergroup is told which id to replace in the configuration, once', async () => {
    const { telegram } = fixture();
    const [from, to] = [-4208, -1_004_208];
    telegram.chats.open(String(to));
    const message = { message_id: 1, date: 1, from: { id: 31, is_bot: false, first_name: 'Person 31' } };
    const chat = { id: from, type: 'group', title: 'Group' };
    const moved = { chat: { id: to, type: 'supergroup', title: 'Group' }, migrate_from_chat_id: from };
    telegram.update({ message: { ...message, chat, migrate_to_chat_id: to } });
    telegram.update({ message: { ...message, ...moved } });
    await vi.waitFor(() => expect(screen(String(to))).toHaveLength(1), WAIT);
    expect(screen(String(to))[0]).toContain(
      'under the old id, -4208, applies again once an owner of this bot replaces that id in access.telegram.groups',
    );
    await vi.waitFor(() => expect(telegram.updates.unconfirmed).toBe(0), WAIT);
    await idle(String(to));
    expect(screen(String(to))).toHaveLength(1);
  });

  it('gets its answers at their pace while Telegram refuses reactions', async () => {
    const chat = '-4207';
    fixture().telegram.failure({ kind: 'status', status: 429, method: 'setMessageReaction', ms: 40_000 });
    fixture().telegram.says(chat, `${NAME} refused reaction`, '31');
    await vi.waitFor(() => expect(screen(chat).join()).toContain('refused reaction'), WAIT);
    await expect.poll(() => fixture().telegram.count('setMessageReaction'), WAIT).toBeGreaterThan(0);
    await idle(chat);
  });
});
