/** The model asks another person for an owner: the turn waits without holding anything, and ends with their answer or without one. */
import { expect, it, vi } from 'vitest';
import { MAX_ANSWER_CHARS } from '../../../src/protocol/agent/approvals.ts';
import { fillsIn } from '../../fakes/discord/acts.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';
import { ASKING_OWNERS, questionsOn } from './questions.ts';

const SETTINGS = {
  telegram: true,
  discord: true,
  file: {
    tools: { enabled: ['message', 'ask'] },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: ASKING_OWNERS } },
  },
};

describeGateway('a question to another person', SETTINGS, (fixture) => {
  const questions = questionsOn(fixture);
  const {
    screen,
    seen,
    says,
    calls,
    owner,
    messageWith,
    copied,
    pressed,
    toolAnswer,
    asked,
    person: nextPerson,
  } = questions;

  it('"Tell Anna when the build is done and bring back her answer" goes over two networks', async () => {
    const chat = owner();
    const { discord } = fixture();
    const { channel, person } = discord.dm('Anna');
    const reads = (text: string): Promise<void> =>
      vi.waitFor(() => expect(discord.screen(channel).join('\n')).toContain(text), WAIT);
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    discord.says(channel, 'hello there', person);
    await reads('echo: hello there');
    calls('tell Anna', 'message', { to: 'Anna', text: 'The build is done.' });
    calls('tell Anna', 'ask', { to: 'Anna', question: 'Shall we release it?' });
    fixture().ollama.answer({ text: 'Anna says: only on Monday.' }, { when: 'tell Anna' });
    says(chat, 'tell Anna when the build is done, and bring back her answer');
    await seen(chat, '"text": "The build is done."');
    fixture().telegram.press(chat, 'Approve', chat);
    await reads('The build is done.');
    await seen(chat, '"question": "Shall we release it?"');
    fixture().telegram.press(chat, 'Approve', chat);
    await reads('Shall we release it?');
    expect(discord.screen(channel).join()).toContain(`Person ${chat} has me ask you`);
    await vi.waitFor(async () => {
      const lanes = await fixture().sql`select owner from lane where key = ${`in:telegram:${chat}`}`;
      expect(lanes).toEqual([{ owner: null }]);
    }, WAIT);
    says(chat, '/status');
    await seen(chat, 'for an answer of Discord (private chat with Anna)');
    await fixture().restart();
    const press = discord.press(channel, 'Answer', person);
    const form = await vi.waitFor(() => {
      const found = [...discord.platform.interactions.values()].find(({ id }) => id === press);
      if (found?.modal === undefined) throw new Error('no form is shown yet');
      return found;
    }, WAIT);
    fillsIn(discord, form, { answer: 'Only on Monday!' });
    await seen(chat, 'Anna says: only on Monday.');
    expect(await toolAnswer('tell Anna')).toContain('Only on Monday!');
    await reads('You have answered.');
    expect(screen(chat)).not.toContain('hello there');
    expect((await fixture().store.ledger.session(`telegram:${chat}`))?.sources).toContain('person');
  }, 90_000);

  it('that a killed process has sent once more leaves one message once the other is pressed', async () => {
    const { telegram } = fixture();
    for (const [label, outcome] of [
      ['Refuse', 'You did not want to answer.'],
      ['Answer', 'Once or twice? (Answer)'],
    ] as const) {
      const question = `Once or twice? (${label})`;
      const { friend } = await asked(question);
      await fixture().idle(`telegram:${friend}`);
      const stored = telegram.messages(friend).find(({ text }) => text.includes(question));
      const copy = await copied(friend, question);
      await pressed(friend, label);
      await vi.waitFor(() => {
        const shown = telegram.messages(friend);
        expect(shown.map(({ id }) => id)).not.toContain(copy);
        expect(shown.find(({ id }) => id === stored?.id)?.text).toContain(outcome);
      }, WAIT);
    }
  });

  it('is answered by a reply to the message that a killed process has sent once more', async () => {
    const { friend, said } = await asked('Left or right?');
    await fixture().idle(`telegram:${friend}`);
    const replyTo = await copied(friend, 'Left or right?');
    says(friend, 'Right.', { replyTo });
    await seen(friend, 'Thank you. I pass your answer on.');
    expect(await toolAnswer(said)).toContain('Right.');
  });

  it('is answered by a reply, once: later and empty ones are refused with a word, and nothing is lost', async () => {
    const { friend, said } = await asked('Tea or coffee?');
    const replyTo = messageWith(friend, 'Tea or coffee?');
    says(friend, 'x'.repeat(MAX_ANSWER_CHARS + 1), { replyTo });
    await seen(friend, `an answer has at most ${MAX_ANSWER_CHARS} characters`);
    says(friend, 'Tea, please.', { replyTo });
    await seen(friend, 'Thank you. I pass your answer on.');
    expect(await toolAnswer(said)).toContain('Tea, please.');
    says(friend, 'No, coffee!', { replyTo });
    await seen(friend, 'you have already answered this question');
    says(friend, '/answer cocoa');
    await seen(friend, 'No question is waiting for your answer.');
  });

  it('may be refused, once or for good, and only by the person who is asked', async () => {
    const { chat, friend, said } = await asked('How old are you?');
    const stranger = nextPerson();
    const { button } = await vi.waitFor(() => {
      const message = fixture().telegram.messages(friend).at(-1);
      const never = message?.buttons.find(({ text }) => text === 'Never ask me');
      if (never === undefined) throw new Error('no button yet');
      return { button: never.data };
    }, WAIT);
    const forged = fixture().telegram.presses(stranger, stranger, button);
    await vi.waitFor(() => expect(fixture().telegram.pressed.answers.has(forged)).toBe(true), WAIT);
    expect(fixture().telegram.pressed.answers.get(forged)).toContain('for someone else');
    expect(await pressed(friend, 'Never ask me')).toContain('no longer ask you for others');
    expect(await toolAnswer(said)).toContain('does not want to answer');
    await seen(friend, 'You did not want to answer.');
    await seen(chat, `echo: ${said}`);
    calls(`again ${friend}`, 'ask', { to: `Person ${friend}`, question: 'And now?' });
    says(chat, `again ${friend}`);
    await seen(chat, '"question": "And now?"');
    says(chat, '/approve');
    expect(await toolAnswer(`again ${friend}`)).toContain('does not want to be asked for others');
    says(friend, '/questions on');
    await seen(friend, 'Owners of this bot may have me ask you.');
  });

  it('needs no answer any more after /stop, and says so', async () => {
    const { chat, friend } = await asked('Are you there?');
    says(chat, '/stop');
    await seen(friend, 'No answer is needed any more.');
    says(friend, 'yes', { replyTo: messageWith(friend, 'Are you there?') });
    await seen(friend, 'this question needs no answer any more');
    expect(screen(chat)).not.toContain('yes');
  });

  it('ends without an answer when its time is up', async () => {
    const { friend, said } = await asked('Any news?');
    await fixture().sql`
      update approval set expires_at = now() where detail #>> '{question,text}' = 'Any news?'`;
    await fixture().sql`
      update lane set wake_at = now() where key in (
        select lane from approval where detail #>> '{question,text}' = 'Any news?')`;
    expect(await toolAnswer(said)).toContain('No answer came in time');
    await seen(friend, 'No answer is needed any more.');
  });

  it('goes to no one who has not written to the bot, to no group, and is asked for no one but owners', async () => {
    const friend = nextPerson();
    calls(`curious ${friend}`, 'ask', { to: 'Person', question: 'x' });
    says(friend, `curious ${friend}`);
    expect(await toolAnswer(`curious ${friend}`)).toContain(
      'only an owner of this bot can have others asked',
    );
    const chat = owner();
    calls(`nobody ${chat}`, 'ask', { to: 'Zoe', question: 'x' });
    says(chat, `nobody ${chat}`);
    expect(await toolAnswer(`nobody ${chat}`)).toContain('no one called "Zoe" has written to this bot');
  });
});

it('is asked once and answered once when the gateway is killed before and after the answer', async () => {
  const [chat = '', friend = ''] = FRIENDS;
  const config = {
    tools: { enabled: ['ask'] },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: [chat] } },
  };
  const { telegram, ollama, start, killAndStart } = await telegramProcess({ config });
  const wait = { timeout: 60_000, interval: 50 };
  const seen = (where: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(telegram.screen(where).join('\n')).toContain(text), wait);
  await start();
  telegram.says(friend, 'hello', friend);
  await seen(friend, 'echo: hello');
  const args = { to: `Person ${friend}`, question: 'Shall we?' };
  ollama.answer({ toolCalls: [{ name: 'ask', args }] }, { when: 'ask them' });
  // The second is for a call that the kill interrupts.
  for (let nth = 0; nth < 2; nth += 1) ollama.answer({ text: 'They say yes.' }, { when: 'ask them' });
  telegram.says(chat, 'ask them', chat);
  await seen(chat, 'It writes to another chat');
  telegram.press(chat, 'Approve', chat);
  await seen(friend, 'Shall we?');
  const question = telegram.messages(friend).at(-1);
  // The next reply of the chat comes after the question is known to be sent: until then a crash may send it again.
  telegram.says(friend, '/questions', friend);
  await seen(friend, 'may have me ask you');
  await killAndStart();
  telegram.says(friend, 'Yes!', friend, { replyTo: question?.id });
  await seen(friend, 'I pass your answer on');
  await killAndStart();
  await seen(chat, 'They say yes.');
  await seen(friend, 'You have answered.');
  expect(telegram.screen(friend).filter((text) => text.includes('Shall we?'))).toHaveLength(1);
  expect(telegram.screen(chat).filter((text) => text.includes('They say yes.'))).toHaveLength(1);
}, 150_000);
