/** One conversation on the page, Telegram, Discord, Slack and Matrix: an answer grows on all of them at the same moment. */
import { afterAll, expect, it, vi } from 'vitest';
import { describePage } from '../../channels/http/page/browser/describe-page.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { FakeSlack } from '../../fakes/slack/slack.ts';
import { describeGateway, FRIENDS, OWNER, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const [FRIEND = ''] = FRIENDS;
const SETTINGS = {
  telegram: true,
  discord: true,
  env: variablesOf({ slack, matrix }),
  file: {
    access: { telegram: { allow: [FRIEND] } },
    limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
    // The limits of the platforms have their own tests.
    channels: {
      slack: { editsPerSecond: { start: 20, most: 20 } },
      matrix: { eventsPerSecond: { start: 20 } },
    },
  },
};

const QUESTION = 'How fast do stones fall?';
const ANSWER = `A stone falls **${'faster and '.repeat(40)}faster**, by \\(v = g \\cdot t\\):

| time | speed |
|-----:|------:|
| 1 s  | 9.8 m/s |
| 2 s  | 19.6 m/s |

\`\`\`js
const speed = (seconds) => 9.81 * seconds;
\`\`\`

That is all.`;

interface Chat {
  says: (text: string) => unknown;
  /** Gives a command, in the network's syntax. */
  commands: (text: string) => unknown;
  /** What the bot shows there. */
  screen: () => string[];
  /** Its answers to commands where only their sender sees them; on other networks they are on the screen. */
  replies?: () => string[];
}

describeGateway('one conversation everywhere', SETTINGS, (fixture) => {
  /** A private chat of a person who may write there, on each network. */
  const chats = async (): Promise<Record<string, Chat>> => {
    const { telegram, discord, store } = fixture();
    const dm = discord.dm();
    const direct = slack.workspace.dm('Ada');
    const ada = matrix.rooms.person('Ada');
    const room = matrix.rooms.room(ada);
    await store.access.addGrant('discord', 'dm', dm.person.id);
    await store.access.addGrant('slack', 'dm', direct.person.id);
    await store.access.addGrant('matrix', 'dm', ada.id);
    return {
      Telegram: {
        says: (text) => telegram.says(FRIEND, text, FRIEND),
        commands: (text) => telegram.says(FRIEND, `/${text}`, FRIEND),
        screen: () => telegram.screen(FRIEND),
      },
      Discord: {
        says: (text) => discord.says(dm.channel, text, dm.person),
        commands: (text) => discord.says(dm.channel, `/${text}`, dm.person),
        screen: () => {
          const seen = discord.visible(dm.channel);
          return discord.screen(dm.channel).filter((_, at) => seen[at]?.author.bot === true);
        },
      },
      Slack: {
        says: (text) => slack.says(direct.chat, text, direct.person),
        commands: (text) => slack.commands(direct.chat, text, direct.person),
        screen: () => slack.screen(direct.chat),
        replies: () => [...slack.answers.values()].map((answer) => JSON.stringify(answer) ?? ''),
      },
      Matrix: {
        says: (text) => matrix.says(room, text, ada),
        commands: (text) => matrix.says(room, `!${text}`, ada),
        screen: () => matrix.screen(room),
      },
    };
  };
  const shows = (screen: () => string[], text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen().join('\n')).toMatch(text), WAIT);
  /** The chat joins the conversation of the page. */
  const link = async ({ commands, screen, replies = screen }: Chat, page: string): Promise<void> => {
    commands('link');
    await shows(replies, /link [0-9A-Z]{5}-/);
    const [, code] = /link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(replies().join('\n')) ?? [];
    const entered = await fixture().call(`/v1/sessions/http:${page}/link`, { json: { code } });
    const { asks } = await entered.json();
    await fixture().call(`/v1/links/${asks.id}`, { json: { session: `http:${page}`, agree: true } });
    commands('link yes');
    await shows(screen, 'now shares this conversation');
  };

  describePage('with the page', (tab) => {
    it('grows on each while it grows on the others, and ends with its table, code and formula on all', async () => {
      fixture().ollama.answer({ text: 'Hello.' }, { when: 'hello' });
      await fixture().post('everywhere', 'hello');
      await fixture().idle('http:everywhere');
      const all = await chats();
      for (const chat of Object.values(all)) await link(chat, 'everywhere');
      const page = await tab.open(`${fixture().gateway.url}/#http:everywhere`, { token: OWNER });
      await page.locator('.md', { hasText: 'Hello.' }).waitFor();

      // The model pauses in the middle until every screen was looked at.
      fixture().ollama.answer({ text: ANSWER, failure: { kind: 'hang', after: 40 } }, { when: QUESTION });
      const { Slack, ...others } = all;
      Slack?.says(QUESTION);
      const onPage = async (): Promise<string> => (await page.locator('main.chat').innerText()).trim();
      const screens = [...Object.values(others), Slack!].map(({ screen }) => screen);
      // At the same moment every screen shows the beginning of the answer, and none its end.
      await vi.waitFor(async () => {
        const now = [...screens.map((screen) => screen().join('\n')), await onPage()];
        for (const text of now) expect(text).toContain('faster and faster');
        for (const text of now) expect(text).not.toContain('That is all.');
      }, WAIT);
      await tab.screenshot('everywhere-growing');
      (await fixture().modelCall(QUESTION)).release();
      for (const screen of screens) await shows(screen, 'That is all.');
      await page.locator('.md', { hasText: 'That is all.' }).waitFor();
      await tab.screenshot('everywhere-done');
      const ends = [...screens.map((screen) => screen().join('\n')), await onPage()];
      for (const text of ends) {
        expect(text).toContain('const speed = (seconds) => 9.81 * seconds;');
        // The page typesets it, letter by letter.
        expect(text).toMatch(/v = g ?[⋅·] ?t|𝑣\s*=\s*𝑔\s*⋅\s*𝑡/u);
        expect(text).toMatch(/2 s[^\n]*19\.6 m\/s|2 s\s+19\.6 m\/s/);
        expect(text).not.toMatch(/\*\*|\\cdot|```|\|-/);
      }
      for (const { screen } of Object.values(others)) expect(screen().join('\n')).toContain(QUESTION);
    }, 90_000);
  });
});
