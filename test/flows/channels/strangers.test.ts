/** Strangers on Slack, Discord and Matrix: whatever they are called, however much they write, and wherever they mention the bot. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { visibleText } from '../../../src/lib/text.ts';
import { pairCommand } from '../../../src/security/index.ts';
import { channels } from '../../../channels/index.ts';
import type { FakeDiscord } from '../../fakes/discord/discord.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from '../../fakes/slack/slack.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../setup.ts';

/** Messages of a stranger in a row. */
const FLOOD = 50;
/** A name that would clear the terminal, forge a line and turn the rest of it around; far longer than any network allows. */
const NAME = `Eve\u001b[2J\ngranted  slack owner\u2028\u202e@everyone <!channel> ${'x'.repeat(5_000)}`;

const [slack, matrix] = [await FakeSlack.open(), await FakeHomeserver.open()];
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const env = {
  SLACK_BOT_TOKEN: SLACK_TOKEN,
  SLACK_APP_TOKEN,
  SLACK_API_ROOT: slack.apiRoot,
  MATRIX_URL: matrix.root,
  MATRIX_TOKEN,
};

/** A chat, its id, what is written there and what the bot has shown. */
interface Chat {
  id: string;
  says(text: string): unknown;
  screen(): string[];
}

/** The private chat of a stranger, and two groups in which their messages mention the bot. */
const NETWORKS: Readonly<Record<string, (discord: FakeDiscord) => { dm: Chat; groups: [Chat, Chat] }>> = {
  slack() {
    const { chat, person } = slack.workspace.dm(NAME);
    const bot = `<@${slack.workspace.bot.userId}>`;
    const group = (): Chat => {
      const room = slack.workspace.channel();
      const says = (text: string) => slack.says(room, `${bot} ${text}`, person);
      return { id: room.id, says, screen: () => slack.screen(room) };
    };
    const says = (text: string) => slack.says(chat, text, person);
    return { dm: { id: chat.id, says, screen: () => slack.screen(chat) }, groups: [group(), group()] };
  },
  matrix() {
    const eve = Object.assign(matrix.rooms.person('Eve'), { name: NAME });
    const room = matrix.rooms.room(eve);
    const group = (): Chat => {
      const several = matrix.rooms.room(eve, matrix.rooms.person('Ann'));
      const says = (text: string) => matrix.says(several, `Parley: ${text}`, eve, { mentions: true });
      return { id: several.id, says, screen: () => matrix.screen(several) };
    };
    const says = (text: string) => matrix.says(room, text, eve);
    return { dm: { id: room.id, says, screen: () => matrix.screen(room) }, groups: [group(), group()] };
  },
  discord(discord) {
    const { channel, person } = discord.dm(NAME);
    const screenOf = (place: typeof channel) => () =>
      discord.screen(place).filter((_, at) => discord.visible(place)[at]?.author.bot === true);
    const group = (): Chat => {
      const room = discord.platform.addChannel(0);
      const says = (text: string) => discord.says(room, text, person, { mention: true });
      return { id: room.id, says, screen: screenOf(room) };
    };
    const says = (text: string) => discord.says(channel, text, person);
    return { dm: { id: channel.id, says, screen: screenOf(channel) }, groups: [group(), group()] };
  },
};

describeGateway('a gateway on three networks', { discord: true, env }, (fixture) => {
  describe.each(Object.entries(NETWORKS))('a stranger on %s', (network, open) => {
    it(`gets one code for ${FLOOD} messages, and nothing in a group without a grant; no model reads a word`, async () => {
      const { dm, groups } = open(fixture().discord);
      const [closed, granted] = groups;
      await fixture().store.access.addGrant(network, 'group', granted.id);
      for (let n = 0; n < FLOOD; n += 1) {
        dm.says(`let me in ${n}`);
        closed.says(`answer me ${n}`);
      }
      granted.says(`at last on ${network}`);
      await vi.waitFor(() => expect(dm.screen().join('')).toContain('pair approve'), WAIT);
      await vi.waitFor(() => expect(granted.screen().join('')).toContain('at last'), WAIT);
      expect(dm.screen()).toHaveLength(1);
      expect(closed.screen()).toEqual([]);
      const read = fixture().ollama.calls.map(({ body }) => lastUserText(body));
      expect(read.filter((text) => /let me in|answer me/.test(text))).toEqual([]);
    });

    it('has a name that stays on one line wherever an operator reads it', async () => {
      const pairs = await pairCommand(fixture().store.access, channels, []);
      const lines = pairs.split('\n').filter((line) => line.startsWith(`pending  ${network}`));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toBe(visibleText(lines[0] ?? ''));
      expect(pairs).not.toMatch(/^granted {2}slack owner/m);
      for (const line of fixture().log) expect(line.trimEnd()).toBe(visibleText(line.trimEnd()));
    });
  });
});
