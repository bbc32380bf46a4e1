/** Reactions show the progress of a question, on Slack and on Matrix, through a whole gateway. */
import { afterAll, expect, it, vi } from 'vitest';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { FakeSlack } from '../../fakes/slack/slack.ts';
import { describeGateway, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const env = variablesOf({ slack, matrix });

interface Asking {
  /** Asks in a group, or in a chat with the bot alone; returns the bot's reactions to the question. */
  ask: (text: string) => () => string[];
  /** Someone reacts to the newest message of the bot with a thumbs-down. */
  stop: () => void;
  screen: () => string[];
}

describeGateway('reactions to questions', { env }, (fixture) => {
  const onSlack = async (isGroup: boolean): Promise<Asking> => {
    const { workspace } = slack;
    const dm = workspace.dm('Ada');
    const chat = isGroup ? workspace.channel() : dm.chat;
    const person = isGroup ? workspace.person('Bo') : dm.person;
    await fixture().store.access.addGrant('slack', isGroup ? 'group' : 'dm', isGroup ? chat.id : person.id);
    return {
      ask: (text) => {
        const message = slack.says(chat, `<@${workspace.bot.userId}> ${text}`, person);
        return () => message.reactions;
      },
      stop: () => slack.reacts(chat, slack.visible(chat).at(-1)?.ts ?? '', 'thumbsdown', person),
      screen: () => slack.screen(chat),
    };
  };
  const onMatrix = async (isGroup: boolean): Promise<Asking> => {
    const ada = matrix.rooms.person('Ada');
    const room = isGroup ? matrix.rooms.room(ada, matrix.rooms.person('Bob')) : matrix.rooms.room(ada);
    await fixture().store.access.addGrant('matrix', isGroup ? 'group' : 'dm', isGroup ? room.id : ada.id);
    return {
      ask: (text) => {
        const { event_id: id } = matrix.says(room, `Parley: ${text}`, ada, { mentions: true });
        return () => matrix.rooms.reactionsOf(room, id, matrix.rooms.bot.id);
      },
      stop: () => void matrix.reacts(room, matrix.visible(room).at(-1)?.id ?? '', '👎', ada),
      screen: () => matrix.screen(room),
    };
  };

  it.each([
    ['Slack', onSlack, ['eyes', 'white_check_mark', 'x']],
    ['Matrix', onMatrix, ['👀', '✅', '❌']],
  ] as const)(
    'on %s show that it is being worked on, was answered or failed, and go away when the answer is stopped',
    async (network, open, [working, done, failed]) => {
      const { ollama } = fixture();
      const group = await open(true);
      ollama.answer({ text: 'one two', hold: true }, { when: `first on ${network}` });
      const first = group.ask(`first on ${network}`);
      const call = await fixture().modelCall(`first on ${network}`);
      await vi.waitFor(() => expect(first()).toEqual([working]), WAIT);
      call.release();
      await vi.waitFor(() => expect(first()).toEqual([done]), WAIT);
      const failure = { kind: 'status', status: 400, error: 'this model is broken' } as const;
      ollama.answer({ failure }, { when: `second on ${network}`, times: Infinity });
      const second = group.ask(`second on ${network}`);
      await vi.waitFor(() => expect(second()).toEqual([failed]), WAIT);

      const direct = await open(false);
      const text = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ');
      ollama.answer({ text, perSecond: 20 }, { when: `third on ${network}` });
      const third = direct.ask(`third on ${network}`);
      await vi.waitFor(() => expect(direct.screen().at(-1)).toContain('word3'), WAIT);
      direct.stop();
      const stopped = await fixture().modelCall(`third on ${network}`);
      expect((await stopped.closed).by).toBe('client');
      expect(third()).toEqual([]);
    },
  );
});
