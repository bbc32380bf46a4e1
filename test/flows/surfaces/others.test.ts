/** An owner has the bot write to other people: after a question that shows the chat, and once, whatever happens in between. */
import { expect, it, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';
import { readPage } from './hostile-page.ts';
import { toolAnswerIn } from './questions.ts';

const people = FRIENDS.values();
const GROUP = '-4711';
const OWNERS = FRIENDS.slice(-8);
const owners = OWNERS.values();
const access = { telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } } };
const SETTINGS = {
  telegram: true,
  discord: true,
  tools: [readPage],
  file: {
    tools: { enabled: ['message'] },
    access: { ...access, owners: { telegram: OWNERS } },
  },
};
const ALWAYS = 'Always allow messages to this chat';

describeGateway('a message to other people', SETTINGS, (fixture) => {
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const says = (chat: string, text: string, from = chat): number => fixture().telegram.says(chat, text, from);
  const sends = (when: string, text: string, to: string): void =>
    fixture().ollama.answer({ toolCalls: [{ name: 'message', args: { text, to } }] }, { when });
  const owner = (): string => owners.next().value ?? '';
  /** Someone who has written to the bot on Discord. */
  const friendOnDiscord = async (name: string) => {
    const { channel, person } = fixture().discord.dm(name);
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    fixture().discord.says(channel, 'hello there', person);
    const reads = (text: string): Promise<void> =>
      vi.waitFor(() => expect(fixture().discord.screen(channel).join('\n')).toContain(text), WAIT);
    await reads('echo: hello there');
    return { channel, person, reads, address: `discord:${channel.id}` };
  };
  const toolAnswer = (said: string): Promise<string> => toolAnswerIn(fixture(), said);

  it('is asked about with the chat it goes to, until a rule allows that chat, which can be revoked', async () => {
    const chat = owner();
    const anna = await friendOnDiscord('Anna Smith');
    sends(`build ${chat}`, 'The build is green.', 'Anna');
    says(chat, `tell Anna about build ${chat}`);
    await seen(chat, `It writes to another chat: Discord (private chat with Anna Smith), ${anna.address}.`);
    expect(fixture().discord.screen(anna.channel).join()).not.toContain('green');
    fixture().telegram.press(chat, ALWAYS, chat);
    await anna.reads('The build is green.');
    await seen(chat, `echo: tell Anna about build ${chat}`);
    expect(await toolAnswer(`build ${chat}`)).toBe(`Sent to ${anna.address}.`);
    sends(`again ${chat}`, 'And now the tests.', anna.address);
    says(chat, `tell her again ${chat}`);
    await anna.reads('And now the tests.');
    await seen(chat, `echo: tell her again ${chat}`);
    says(chat, '/rules');
    await seen(chat, `message {"to":"${anna.address}","chat":"Discord (private chat with Anna Smith)"}`);
    says(chat, '/rules remove 1');
    await seen(chat, 'I will ask again');
    sends(`third ${chat}`, 'Never sent.', `discord:${anna.person.id}`);
    says(chat, `a third ${chat}`);
    await vi.waitFor(() => expect(screen(chat)).toContain('Never sent.'), WAIT);
    says(chat, '/deny');
    await seen(chat, `echo: a third ${chat}`);
    expect(
      fixture()
        .discord.screen(anna.channel)
        .filter((text) => text.includes('green')),
    ).toHaveLength(1);
    expect(fixture().discord.screen(anna.channel).join()).not.toContain('Never sent.');
    const stored = await fixture().messages(anna.address);
    expect(stored.map(({ content }) => content)).toContain('And now the tests.');
  });

  it('reaches a group by its name, and a chat on the web by its address', async () => {
    const chat = owner();
    says(GROUP, `hello all ${chat}`, chat);
    await seen(GROUP, `hello all ${chat}`);
    sends(`everyone ${chat}`, 'Lunch is ready.', `Group ${GROUP}`);
    says(chat, `tell everyone ${chat}`);
    await seen(chat, `Telegram (group chat "Group ${GROUP}"), telegram:${GROUP}.`);
    fixture().telegram.press(chat, 'Approve', chat);
    await seen(GROUP, 'Lunch is ready.');
    await fixture().post('desk', 'hello');
    sends(`web ${chat}`, 'To the web.', 'http:desk');
    says(chat, `to the web ${chat}`);
    await seen(chat, '(private chat), http:desk.');
    says(chat, '/approve');
    await seen(chat, `echo: to the web ${chat}`);
    expect((await fixture().messages('http:desk')).map(({ content }) => content)).toContain('To the web.');
  });

  it('is asked about in spite of a rule once text of others may have caused it', async () => {
    const chat = owner();
    const ben = await friendOnDiscord('Ben');
    sends(`first ${chat}`, 'One.', 'Ben');
    says(chat, `first ${chat}`);
    await seen(chat, 'Discord (private chat with Ben)');
    fixture().telegram.press(chat, ALWAYS, chat);
    await ben.reads('One.');
    await seen(chat, `echo: first ${chat}`);
    fixture().ollama.answer({ toolCalls: [{ name: 'read_page', args: {} }] }, { when: `page ${chat}` });
    sends(`page ${chat}`, 'Two.', 'Ben');
    says(chat, `read the page ${chat}`);
    await seen(chat, 'may have caused it');
    const last = fixture().telegram.messages(chat).at(-1);
    expect(last?.buttons.map(({ text }) => text)).toEqual(['Approve', 'Deny']);
    says(chat, '/deny');
    await seen(chat, `echo: read the page ${chat}`);
    expect(fixture().discord.screen(ben.channel).join()).not.toContain('Two.');
  });

  it('names the candidates for a name that several have or none has, where no one else reads them', async () => {
    const chat = owner();
    const [one, other] = [await friendOnDiscord('Kim Lee'), await friendOnDiscord('Kim Park')];
    sends(`kim ${chat}`, 'x', 'Kim');
    says(chat, `to kim ${chat}`);
    expect(await toolAnswer(`to kim ${chat}`)).toBe(
      `Not sent: several chats are called "Kim". Give the address of one: Kim Lee (${one.address}); Kim Park (${other.address}).`,
    );
    sends(`nobody ${chat}`, 'x', 'Zoe');
    says(chat, `to nobody ${chat}`);
    const unknown = await toolAnswer(`to nobody ${chat}`);
    expect(unknown).toContain('no one called "Zoe" has written to this bot. It knows ');
    expect(unknown).toContain(`Kim Lee (${one.address})`);
    sends(`group kim ${chat}`, 'x', 'Kim');
    says(GROUP, `group kim ${chat}`, chat);
    // In a group others may have caused any message to another chat.
    await seen(GROUP, '"to": "Kim"');
    says(GROUP, '/approve', chat);
    const inGroup = await toolAnswer(`group kim ${chat}`);
    expect(inGroup).toContain('others read here');
    expect(inGroup).not.toContain('Lee');
  });

  it('goes to no one who may no longer use the bot, and from no one but owners', async () => {
    const chat = owner();
    const gone = await friendOnDiscord('Mallory');
    const stranger = people.next().value ?? '';
    sends(`sneak ${stranger}`, 'x', 'Mallory');
    says(stranger, `sneak ${stranger}`);
    expect(await toolAnswer(`sneak ${stranger}`)).toContain('there is no chat of this person on "Mallory"');
    await fixture().store.access.removeGrant('discord', 'dm', gone.person.id);
    sends(`gone ${chat}`, 'x', 'Mallory');
    says(chat, `is gone ${chat}`);
    expect(await toolAnswer(`gone ${chat}`)).toContain('may no longer use this bot');
    expect(fixture().discord.screen(gone.channel)).toHaveLength(2);
  });
});

it('reaches the other person once when the gateway is killed after the approval', async () => {
  const [chat = '', friend = ''] = FRIENDS;
  const config = {
    tools: { enabled: ['message'] },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: [chat] } },
  };
  const { telegram, ollama, start, killAndStart } = await telegramProcess({ config });
  const wait = { timeout: 60_000, interval: 50 };
  const seen = (where: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(telegram.screen(where).join('\n')).toContain(text), wait);
  await start();
  telegram.says(friend, 'hello', friend);
  await seen(friend, 'echo: hello');
  const args = { text: 'The build is green.', to: `telegram:${friend}` };
  ollama.answer({ toolCalls: [{ name: 'message', args }] }, { when: 'tell them' });
  telegram.says(chat, 'tell them', chat);
  await seen(chat, 'It writes to another chat');
  const press = telegram.press(chat, 'Approve', chat);
  await vi.waitFor(() => expect(telegram.pressed.answers.has(press)).toBe(true), wait);
  await killAndStart();
  await seen(chat, 'echo: tell them');
  await seen(friend, 'The build is green.');
  telegram.says(friend, 'and?', friend);
  await seen(friend, 'echo: and?');
  expect(telegram.screen(friend).filter((text) => text === 'The build is green.')).toHaveLength(1);
}, 120_000);
