/** Threads on Slack: what was said there before the app was asked, and follow-ups without its name. */
import { afterAll, expect, it, vi } from 'vitest';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN, textOf } from '../../../fakes/slack/slack.ts';
import type { FakeChat } from '../../../fakes/slack/workspace.ts';
import { lastUserText } from '../../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const slack = await FakeSlack.open();
const strict = await FakeSlack.open();
const bot = `<@${slack.workspace.bot.userId}>`;
const env = { SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_APP_TOKEN, SLACK_API_ROOT: slack.apiRoot };
afterAll(async () => {
  await slack.close();
  await strict.close();
});
const [ada, bob] = [slack.workspace.person('Ada'), slack.workspace.person('Bob')];

describeGateway('A thread on Slack', { env }, (fixture) => {
  const room = async (): Promise<FakeChat> => {
    const chat = slack.workspace.channel();
    await fixture().store.access.addGrant('slack', 'group', chat.id);
    return chat;
  };
  const thread = (chat: FakeChat, threadTs: string): string[] =>
    slack
      .visible(chat)
      .filter((message) => message.threadTs === threadTs)
      .map(textOf);
  const answered = async (chat: FakeChat, threadTs: string, text: string): Promise<void> => {
    await vi.waitFor(() => expect(thread(chat, threadTs).join('\n')).toContain(text), WAIT);
    await fixture().idle(`slack:${chat.id}:${threadTs}`);
  };
  const heard = async (said: string): Promise<string> => lastUserText((await fixture().modelCall(said)).body);

  it('is read when the app is first asked there, with the names of those who wrote', async () => {
    const chat = await room();
    const { ts } = slack.says(chat, 'The deploy failed with exit code 137.', bob);
    slack.says(chat, 'Looks like OOM on node-7.', ada, { threadTs: ts });
    slack.says(chat, `${bot} summarize this thread`, ada, { threadTs: ts });
    const read = await heard('summarize this thread');
    expect(read).toContain('Bob: The deploy failed with exit code 137.');
    expect(read).toContain('Ada: Looks like OOM on node-7.');
    expect(read).toMatch(/text of others/);
    await answered(chat, ts, 'summarize this thread');
    // Afterwards only what is new since the answer.
    slack.says(chat, 'It was the cache.', bob, { threadTs: ts });
    slack.says(chat, `${bot} and now?`, ada, { threadTs: ts });
    const next = await heard('and now?');
    expect(next).toContain('Bob: It was the cache.');
    expect(next).not.toContain('OOM');
    const session = await fixture().store.ledger.session(`slack:${chat.id}:${ts}`);
    expect(session?.sources).toContain('group');
  });

  it('includes the card of another app', async () => {
    const chat = await room();
    const app = slack.workspace.person('Sentry', true);
    const attachments = [
      { fallback: '[no preview available]', title: 'TypeError in checkout', text: 'x is *null*' },
    ];
    const { ts } = slack.says(chat, '', app, { attachments });
    slack.says(chat, `${bot} what does this alert mean?`, ada, { threadTs: ts });
    const read = await heard('what does this alert mean?');
    expect(read).toContain('TypeError in checkout');
    expect(read).toContain('x is *null*');
  });

  it('goes on without the name of the app, until someone else writes; a restart changes nothing', async () => {
    const chat = await room();
    const { ts } = slack.says(chat, `${bot} capital of France?`, ada);
    await answered(chat, ts, 'capital of France?');
    slack.says(chat, 'and of Spain?', ada, { threadTs: ts });
    await answered(chat, ts, 'and of Spain?');
    await fixture().restart();
    await vi.waitFor(
      async () => expect((await fixture().gateway.health()).channels.slack?.state).toBe('up'),
      WAIT,
    );
    slack.says(chat, 'and of Peru?', ada, { threadTs: ts });
    await answered(chat, ts, 'and of Peru?');
    slack.says(chat, 'Madrid is nice', bob, { threadTs: ts });
    slack.says(chat, 'yes, Bob', ada, { threadTs: ts });
    slack.says(chat, `${bot} and of Chile?`, ada, { threadTs: ts });
    await answered(chat, ts, 'and of Chile?');
    expect(thread(chat, ts)).toHaveLength(4);
    const read = await heard('and of Chile?');
    expect(read).toContain('Bob: Madrid is nice');
    expect(read).toContain('Ada: yes, Bob');
  });
});

describeGateway(
  'A thread on Slack with followUps off',
  { env: { ...env, SLACK_API_ROOT: strict.apiRoot }, file: { channels: { slack: { followUps: false } } } },
  (fixture) => {
    it('needs the name of the app in each question', async () => {
      const chat = strict.workspace.channel();
      const person = strict.workspace.person('Ada');
      const name = `<@${strict.workspace.bot.userId}>`;
      await fixture().store.access.addGrant('slack', 'group', chat.id);
      const { ts } = strict.says(chat, `${name} the first one`, person);
      const inThread = () =>
        slack
          .visible(chat)
          .filter(({ threadTs }) => threadTs === ts)
          .map(textOf);
      await vi.waitFor(() => expect(inThread().join()).toContain('the first one'), WAIT);
      strict.says(chat, 'the second one', person, { threadTs: ts });
      strict.says(chat, `${name} the third one`, person, { threadTs: ts });
      await vi.waitFor(() => expect(inThread()).toHaveLength(2), WAIT);
      expect(inThread()[1]).toContain('the third one');
    });
  },
);
