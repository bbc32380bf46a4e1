/** The Slack channel under the contract that every channel passes. */
import { JSON_PER_CHARACTER } from '../../../channels/slack/render.ts';
import { blocksOf } from '../../../channels/slack/sending.ts';
import { channelContract } from '../../contracts/channel.ts';
import { deletes } from '../../fakes/slack/acts.ts';
import { checkBlocks, visibleOf } from '../../fakes/slack/blocks.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { SLACK_TOKEN, textOf } from '../../fakes/slack/slack.ts';

channelContract('slack', async () => {
  const setup = await SlackSetup.open();
  const { slack } = setup;
  const chats = [slack.workspace.dm('Ada'), slack.workspace.dm('Bob')] as const;
  const find = (chatId: string) => chats.find(({ chat }) => chat.id === chatId) ?? chats[0];
  const contract = (at: 0 | 1) => ({ chatId: chats[at].chat.id, senderId: chats[at].person.id });
  return {
    channel: setup.channel,
    chats: [contract(0), contract(1)],
    secret: SLACK_TOKEN,
    says(chat, text) {
      const { chat: where, person } = find(chat.chatId);
      slack.says(where, text, person);
    },
    types(chat, text) {
      const { chat: where, person } = find(chat.chatId);
      const [, used] = /^\/parley (.+)$/s.exec(text) ?? [];
      if (used !== undefined) slack.commands(where, used, person);
      // Clients report any other as an unknown command.
      else if (!text.startsWith('/')) slack.says(where, text, person);
    },
    screen: (chatId) => slack.screen(find(chatId).chat),
    files: (chatId) =>
      slack
        .visible(find(chatId).chat)
        .flatMap((message) =>
          message.files.map(({ name, bytes }) => ({ name, bytes, caption: textOf(message) })),
        ),
    reads(text) {
      if (text === '') return { visible: '', length: 0 };
      const visible = visibleOf(checkBlocks(blocksOf(JSON.parse(text))));
      return { visible, length: Math.max(visible.length, Math.ceil(text.length / JSON_PER_CHARACTER)) };
    },
    receiving: () => slack.socketMode.open,
    acknowledged: () => slack.socketMode.waiting === 0,
    redelivers: () => slack.redelivers(),
    echoes(chat, text, from) {
      const { chat: where } = find(chat.chatId);
      if (from === 'self') slack.echoes(where, text);
      else slack.says(where, text, slack.workspace.person('Other', true));
    },
    sendsFile(chat, name, bytes) {
      const { chat: where, person } = find(chat.chatId);
      slack.says(where, '', person, { files: [{ name, bytes }] });
    },
    deletes(chat) {
      const { chat: where, person } = find(chat.chatId);
      const message = where.messages.findLast(({ user }) => user === person.id);
      if (message !== undefined) deletes(slack, where, message);
    },
    deleted: () => setup.deleted,
    group() {
      const { workspace } = slack;
      const chat = workspace.channel();
      const [admin, creator, member] = ['Admin', 'Creator', 'Mia'].map((name) => workspace.person(name));
      if (admin !== undefined) admin.role = 'admin';
      chat.creator = creator?.id ?? '';
      return {
        chatId: chat.id,
        administrators: [admin?.id ?? '', chat.creator],
        others: [member?.id ?? '', 'U0NOBODY', 'not an id'],
      };
    },
    failsDownload: (failure) => void slack.downloadFailures.push(failure),
    rateLimits: (ms) => slack.limits.force(/^chat\.postMessage$|^files\.getUploadURLExternal$/, ms),
    blocks(chatId) {
      find(chatId).chat.hasBot = false;
    },
    losesAnswer: () => void slack.failures.push({ kind: 'drop', match: /^chat\.postMessage$/ }),
    losesFileAnswer: () => void slack.failures.push({ kind: 'drop', match: /^files\.complete/ }),
    fails: (status) => void slack.failures.push({ kind: 'status', status, match: /^chat\.postMessage$/ }),
    refusesToken: () => void slack.failures.push({ kind: 'refuse', code: 'invalid_auth', match: /^chat\./ }),
    close: () => setup.close(),
  };
});
