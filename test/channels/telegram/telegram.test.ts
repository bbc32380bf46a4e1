/** Telegram under the contract that every channel passes. */
import { create } from '../../../channels/telegram/index.ts';
import { channelContract } from '../../contracts/channel.ts';
import type { ChannelHarness } from '../../contracts/channel-harness.ts';
import { cleanVisible, readHtml } from '../../fakes/telegram/html.ts';
import { FAKE_BOT, FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { telegramConfig, telegramDeps } from './setup.ts';

/** What the marks of a message count as: 100 fill it, as 4,096 characters do. */
function sizeOfMarks(entities: readonly { url?: string }[]): number {
  const bytes = entities.reduce((sum, { url = '' }) => sum + 12 + Buffer.byteLength(url), 0);
  return Math.ceil(4_096 * Math.max(entities.length / 100, bytes / 9_000));
}

async function makeHarness(): Promise<ChannelHarness> {
  const fake = await FakeTelegram.start();
  const chats: ChannelHarness['chats'] = [
    { chatId: '1001', senderId: '1001' },
    { chatId: '2002', senderId: '2002' },
  ];
  for (const { chatId } of chats) fake.chats.open(chatId);
  const channel = create(telegramConfig(fake.root), telegramDeps(), { backoffMs: 5 });
  return {
    channel,
    chats,
    secret: FAKE_TOKEN,
    says: (chat, text) => void fake.says(chat.chatId, text, chat.senderId),
    types: (chat, text) => void fake.says(chat.chatId, text, chat.senderId),
    screen: (chatId) => fake.screen(chatId),
    files: (chatId) =>
      fake
        .messages(chatId)
        .flatMap(({ file, text }) => (file ? [{ name: file.name, bytes: file.bytes, caption: text }] : [])),
    reads: (text) => {
      const { text: visible, entities } = cleanVisible(readHtml(text));
      return { visible, length: Math.max(visible.length, sizeOfMarks(entities)) };
    },
    receiving: () => fake.updates.waiting,
    acknowledged: () => fake.updates.unconfirmed === 0,
    redelivers: async (receive) => {
      await channel.stop();
      fake.updates.unconfirm();
      await channel.start(receive);
    },
    echoes: (chat, text, from) => {
      const id = from === 'self' ? FAKE_BOT.id : 555;
      fake.says(chat.chatId, text, String(id), { fields: { from: { id, is_bot: true, first_name: 'Bot' } } });
    },
    sendsFile: (chat, name, bytes) =>
      void fake.sends(chat.chatId, fake.files.document({ name, bytes }), chat.senderId),
    group() {
      fake.chats.open('-1003003');
      for (const id of ['3001', '3002']) fake.introduction.administrators.add(`-1003003 ${id}`);
      return { chatId: '-1003003', administrators: ['3001', '3002'], others: ['3003'] };
    },
    failsDownload: (failure) => fake.files.failure(failure),
    rateLimits: (retryAfterMs) => fake.rateLimit(retryAfterMs / 1_000),
    blocks: (chatId) => fake.closeChat(chatId),
    fails: (status) => fake.failure({ kind: 'page', status }),
    refusesToken: () =>
      fake.failure({
        kind: 'status',
        status: 401,
        description: 'Unauthorized',
        method: 'sendMessage',
      }),
    losesAnswer: () => fake.failure({ kind: 'drop', method: 'sendMessage' }),
    losesFileAnswer: () => fake.failure({ kind: 'drop', method: 'sendDocument' }),
    close: () => fake.close(),
  };
}

channelContract('telegram', makeHarness, {
  deletes: 'the Bot API tells bots of no deleted messages, except in chats of businesses',
  nonce: 'the Bot API has no idempotency key, so a repeated send is a second message',
});
