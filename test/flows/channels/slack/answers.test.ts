/** Slack, from what a user writes or presses to what their screen shows, through a whole gateway. */
import { afterAll, expect, it, vi } from 'vitest';
import { riskyTools } from '../../../fakes/agent/risky-tools.ts';
import { buttonsOf } from '../../../fakes/slack/blocks.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN, textOf } from '../../../fakes/slack/slack.ts';
import { submits } from '../../../fakes/slack/views.ts';
import type { FakeChat } from '../../../fakes/slack/workspace.ts';
import { describeGateway, HALF, WAIT } from '../../setup.ts';

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

const slack = await FakeSlack.open({ limits: true });
const bot = `<@${slack.workspace.bot.userId}>`;
const env = { SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_APP_TOKEN, SLACK_API_ROOT: slack.apiRoot };
afterAll(() => slack.close());
const ran: string[] = [];

describeGateway('Slack', { env, tools: riskyTools(ran) }, (fixture) => {
  /** A channel with its own grant. */
  const room = async (): Promise<FakeChat> => {
    const chat = slack.workspace.channel();
    await fixture().store.access.addGrant('slack', 'group', chat.id);
    return chat;
  };
  /** What the bot shows in a thread. */
  const shown = (chat: FakeChat, threadTs: string) =>
    slack.visible(chat).filter((message) => message.threadTs === threadTs);
  const thread = (chat: FakeChat, threadTs: string): string[] => shown(chat, threadTs).map(textOf);

  it('answers a mention in a new thread, which grows by edits and ends as exactly the stored text', async () => {
    const chat = await room();
    fixture().ollama.answer({ text: words(60), failure: HALF }, { when: 'tell me' });
    slack.says(chat, 'unmentioned', slack.workspace.person('Ada'));
    const { ts } = slack.says(chat, `${bot} tell me`, slack.workspace.person('Ada'));
    await fixture().releaseOnce('tell me', () => thread(chat, ts).join().endsWith('word29'));
    await vi.waitFor(() => expect(thread(chat, ts)).toEqual([words(60)]), WAIT);
    await fixture().idle(`slack:${chat.id}:${ts}`);
    expect(shown(chat, ts)[0]?.edits).toBeGreaterThan(0);
    expect(slack.visible(chat)).toHaveLength(1);
    const stored = await fixture().messages(`slack:${chat.id}:${ts}`);
    expect(stored.map(({ content }) => content)).toEqual(['tell me', words(60)]);
  });

  it('keeps two threads of one channel separate', async () => {
    const chat = await room();
    const [ada, bob] = [slack.workspace.person('Ada'), slack.workspace.person('Bob')];
    const one = slack.says(chat, `${bot} about one`, ada);
    const two = slack.says(chat, `${bot} about two`, bob);
    await vi.waitFor(() => expect(thread(chat, two.ts).join('')).toContain('about two'), WAIT);
    await vi.waitFor(() => expect(thread(chat, one.ts).join('')).toContain('about one'), WAIT);
    expect(thread(chat, one.ts).join('')).not.toContain('two');
    const call = await fixture().modelCall('about two');
    expect(JSON.stringify(call.body)).not.toContain('about one');
  });

  it('gives a stranger one code, and answers once it is approved', async () => {
    const { chat, person } = slack.workspace.dm('Eve');
    slack.says(chat, 'hello?', person);
    await vi.waitFor(() => expect(slack.screen(chat).join('')).toContain('pair approve'), WAIT);
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    slack.says(chat, 'and now?', person);
    await vi.waitFor(() => expect(slack.screen(chat).at(-1)).toBe('echo: and now?'), WAIT);
  });

  it('stops an answer immediately at `/parley stop`', async () => {
    const { chat, person } = slack.workspace.dm('Sam');
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    fixture().ollama.answer({ text: words(2_000), perSecond: 20 }, { when: 'for ever' });
    slack.says(chat, 'for ever', person);
    await vi.waitFor(() => expect(slack.screen(chat).join('')).toContain('word1'), WAIT);
    const id = slack.commands(chat, 'stop', person);
    await vi.waitFor(
      () => expect(slack.answers.get(id)).toMatchObject({ response_type: 'in_channel' }),
      WAIT,
    );
    await fixture().idle(`slack:${chat.id}`);
    const call = await fixture().modelCall('for ever');
    expect((await call.closed).by).toBe('client');
  });

  it('shows the reply to a command to its sender only, and a question in the channel', async () => {
    const chat = await room();
    const person = slack.workspace.person('Hugo');
    const help = slack.commands(chat, 'help', person);
    await vi.waitFor(() => expect(slack.answers.get(help)).toBeDefined(), WAIT);
    expect(slack.answers.get(help)).toMatchObject({ response_type: 'ephemeral' });
    expect(JSON.stringify(slack.answers.get(help))).toContain('/parley stop');
    slack.commands(chat, 'what is new?', person);
    await vi.waitFor(() => expect(slack.screen(chat).join()).toContain('what is new?'), WAIT);
    expect(slack.visible(chat)).toHaveLength(1);
  });

  it('asks before a dangerous call with buttons, and continues when one is pressed', async () => {
    const { chat, person } = slack.workspace.dm('Olga');
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    const toolCalls = [{ name: 'wipe', args: { word: 'clean up' } }];
    fixture().ollama.answer({ toolCalls }, { when: 'clean up' });
    slack.says(chat, 'clean up', person);
    const asked = await vi.waitFor(() => {
      const message = slack.visible(chat).find(({ blocks }) => buttonsOf(blocks).length > 0);
      if (message === undefined) throw new Error('nothing was asked');
      return message;
    }, WAIT);
    expect(ran).toEqual([]);
    slack.presses(chat, asked, 'Approve', slack.workspace.person('Mallory'));
    const id = slack.presses(chat, asked, 'Approve', person);
    await vi.waitFor(() => expect(slack.answers.has(id)).toBe(true), WAIT);
    await vi.waitFor(() => expect(slack.screen(chat).join()).toContain('Approved by Olga'), WAIT);
    await vi.waitFor(() => expect(slack.screen(chat)).toContain('echo: clean up'), WAIT);
    expect(slack.visible(chat).flatMap(({ blocks }) => buttonsOf(blocks))).toEqual([]);
    expect(ran).toEqual(['wipe clean up']);
    await vi.waitFor(
      () => expect(slack.workspace.ephemerals.map(({ text }) => text)).toContain('Approved.'),
      WAIT,
    );
  });

  it('takes no press in a channel unless it is an owner’s, and nothing from a channel without a grant', async () => {
    const chat = await room();
    const [ada, bob] = [slack.workspace.person('Ada'), slack.workspace.person('Bob')];
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'the shed' } }] },
      { when: 'clear the shed' },
    );
    const foreign = slack.workspace.channel();
    slack.says(foreign, `${bot} clear the shed`, bob);
    slack.says(chat, `${bot} clear the shed`, ada);
    const asked = await vi.waitFor(() => {
      const message = slack.visible(chat).find(({ blocks }) => buttonsOf(blocks).length > 0);
      if (message === undefined) throw new Error('nothing was asked');
      return message;
    }, WAIT);
    for (const person of [bob, ada]) {
      const press = slack.presses(chat, asked, 'Approve', person);
      await vi.waitFor(() => expect(slack.answers.has(press)).toBe(true), WAIT);
    }
    const refusals = () =>
      slack.workspace.ephemerals.filter(({ text }) => text.includes('Only an owner of this bot'));
    await vi.waitFor(() => expect(refusals()).toHaveLength(2), WAIT);
    expect(ran).not.toContain('wipe the shed');
    expect(slack.screen(foreign)).toEqual([]);
  });

  it('asks for the reason of a denial in a form, and tells it to the model', async () => {
    const { chat, person } = slack.workspace.dm('Nina');
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'the attic' } }] },
      { when: 'attic' },
    );
    slack.says(chat, 'the attic', person);
    const asked = await vi.waitFor(() => {
      const message = slack.visible(chat).find(({ blocks }) => buttonsOf(blocks).length > 0);
      if (message === undefined) throw new Error('nothing was asked');
      return message;
    }, WAIT);
    slack.presses(chat, asked, 'Deny', person);
    await vi.waitFor(() => expect(slack.views.open.has(person.id)).toBe(true), WAIT);
    submits(slack, person, { reason: 'It is full of letters.' });
    await vi.waitFor(() => expect(slack.screen(chat).join()).toContain('Denied by Nina'), WAIT);
    await vi.waitFor(() => expect(slack.screen(chat)).toContain('echo: the attic'), WAIT);
    const { body } = await fixture().modelCall('the attic');
    expect(JSON.stringify(body.messages)).toContain('It is full of letters.');
    expect(ran).not.toContain('wipe the attic');
  });

  it('shows the arguments of a call in a form at Edit, says what is wrong there, and runs what was submitted', async () => {
    const { chat, person } = slack.workspace.dm('Rosa');
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    const toolCalls = [{ name: 'wipe', args: { word: 'the cellar', count: 2 } }];
    fixture().ollama.answer({ toolCalls }, { when: 'cellar' });
    slack.says(chat, 'the cellar', person);
    const asked = await vi.waitFor(() => {
      const message = slack.visible(chat).find(({ blocks }) => buttonsOf(blocks).length > 0);
      if (message === undefined) throw new Error('nothing was asked');
      return message;
    }, WAIT);
    slack.presses(chat, asked, 'Edit', person);
    await vi.waitFor(() => expect(slack.views.open.has(person.id)).toBe(true), WAIT);
    expect(slack.views.open.get(person.id)?.blocks.map(({ label }) => label.text)).toEqual(['word', 'count']);
    submits(slack, person, { 'argument-0': 'the shed', 'argument-1': 'two' });
    await vi.waitFor(
      () =>
        expect(slack.views.open.get(person.id)?.errors).toEqual({
          'argument-1': 'This must be JSON; empty leaves it out.',
        }),
      WAIT,
    );
    submits(slack, person, { 'argument-0': 'the shed', 'argument-1': '"two"' });
    await vi.waitFor(
      () =>
        expect(slack.views.open.get(person.id)?.errors?.['argument-1']).toBe('count must be of type number'),
      WAIT,
    );
    submits(slack, person, { 'argument-0': 'the shed', 'argument-1': '' });
    await vi.waitFor(() => expect(slack.screen(chat)).toContain('echo: the cellar'), WAIT);
    expect(slack.views.open.has(person.id)).toBe(false);
    expect(ran).toContain('wipe the shed');
    expect(ran).not.toContain('wipe the cellar');
  });

  it('stays within the limits of Slack with several answers at once', async () => {
    const chats = await Promise.all(Array.from({ length: 5 }, room));
    const { refused } = slack.limits;
    for (const [at, chat] of chats.entries()) {
      fixture().ollama.answer({ text: words(40), perSecond: 20 }, { when: `at once ${at}.` });
      slack.says(chat, `${bot} at once ${at}.`, slack.workspace.person(`Person ${at}`));
    }
    for (const chat of chats)
      await vi.waitFor(() => expect(slack.screen(chat)).toEqual([words(40)]), { ...WAIT, timeout: 60_000 });
    expect(slack.limits.early).toBe(0);
    expect(slack.limits.refused - refused).toBeLessThanOrEqual(1);
  });
});
