/** Who is answered on Telegram: strangers, paired users, groups, and how much of anyone. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { MAX_PENDING } from '../../../src/protocol/store/ledger.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const NAME = `@${FAKE_BOT.username}`;
const LAUNCHER = 'src/launch.js';
const LISTED_GROUP = '-4001';
const LISTED_SUPERGROUP = '-1004002';

const file = {
  access: {
    telegram: {
      allow: FRIENDS,
      groups: { [LISTED_GROUP]: {}, [LISTED_SUPERGROUP]: {} },
    },
  },
};

describeGateway('Telegram lets in', { telegram: true, file }, (fixture) => {
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const parley = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, DATABASE_URL: '', ...fixture().env };
    const { stdout } = await promisify(execFile)(process.execPath, [LAUNCHER, ...args], { env });
    return stdout;
  };
  /** Everything that was written has been processed. */
  const taken = async (): Promise<void> => {
    await vi.waitFor(() => expect(fixture().telegram.updates.unconfirmed).toBe(0), WAIT);
  };
  const asked = (): number => fixture().ollama.calls.length;

  it('no one unknown: 50 messages get one code and no model, until the owner approves it', async () => {
    const calls = asked();
    for (let n = 0; n < 50; n += 1) fixture().telegram.says('9001', `let me in ${n}`, '9001');
    await taken();
    await fixture().idle('telegram:9001');
    expect(screen('9001')).toHaveLength(1);
    expect(asked()).toBe(calls);
    const code = /pair approve ([A-Z0-9]{8})/.exec(screen('9001')[0] ?? '')?.[1] ?? '';
    expect(await parley('pair')).toContain('pending  telegram 9001');
    const approved = await parley('pair', 'approve', code);
    expect(approved).toContain('may write to the bot now');
    expect(approved).toContain('There was no owner yet, so this person is one');
    fixture().telegram.says('9001', 'hello', '9001');
    await vi.waitFor(() => expect(screen('9001')).toContain('echo: hello'), WAIT);
    expect(screen('9001')).toHaveLength(2);
    // Only owners may do that.
    fixture().telegram.says('9001', '/trust', '9001');
    await vi.waitFor(
      () => expect(screen('9001').at(-1)).toContain('has not read any untrusted content'),
      WAIT,
    );
    // A name proves nothing: anyone who takes it over is a stranger.
    const from = { id: 9_002, is_bot: false, first_name: 'Person 9001', username: 'person9001' };
    fixture().telegram.says('9002', 'it is me', '9001', { fields: { from } });
    await vi.waitFor(() => expect(screen('9002')[0]).toContain('pair approve'), WAIT);
  });

  it('a group only with its own grant and with the bot named, whoever speaks there', async () => {
    const friend = people.next().value ?? '';
    const stranger = '9100';
    const cases = [
      { chat: LISTED_GROUP, from: friend, name: NAME, word: 'apple', answered: true },
      { chat: LISTED_GROUP, from: stranger, name: NAME, word: 'berry', answered: true },
      { chat: LISTED_GROUP, from: friend, name: '', word: 'cherry', answered: false },
      { chat: LISTED_SUPERGROUP, from: friend, name: NAME, word: 'date', answered: true },
      { chat: LISTED_SUPERGROUP, from: stranger, name: NAME, word: 'elder', answered: true },
      { chat: LISTED_SUPERGROUP, from: stranger, name: '', word: 'fig', answered: false },
      { chat: '-4003', from: friend, name: NAME, word: 'grape', answered: false },
      { chat: '-1004004', from: friend, name: NAME, word: 'hazel', answered: false },
      { chat: '-4003', from: stranger, name: NAME, word: 'ivy', answered: false },
      { chat: '-1004004', from: stranger, name: NAME, word: 'juniper', answered: false },
      { chat: friend, from: friend, name: '', word: 'kiwi', answered: true },
    ];
    for (const { chat, from, name, word } of cases)
      fixture().telegram.says(chat, `${name} ${word}`.trim(), from);
    // In a group the model reads who is writing, in a private chat nothing but the text; never its own name before it.
    const answers = cases.flatMap(({ chat, from, word, answered }) => {
      if (!answered) return [];
      const mark = chat === from ? '' : `\\[\\w{16}: Person ${from} writes\\]\n`;
      return [{ chat, read: new RegExp(`echo: ${mark}${word}$`, 'm') }];
    });
    await vi.waitFor(() => {
      for (const { chat, read } of answers) expect(screen(chat).join('\n')).toMatch(read);
    }, WAIT);
    await taken();
    for (const { chat, word, answered } of cases) {
      const said = fixture().ollama.calls.filter(({ body }) =>
        body.messages.some(({ role, content }) => role === 'user' && content.includes(word)),
      );
      expect(said.length > 0, `${word} in ${chat}`).toBe(answered);
    }
    expect(screen('-4003')).toEqual([]);
    expect(screen('-1004004')).toEqual([]);
  });

  it('one session for a whole group, and not for another group of the same people', async () => {
    const messages = await fixture().messages(`telegram:${LISTED_GROUP}`);
    expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'apple',
      'berry',
    ]);
  });

  it('a group granted by the owner at runtime, and revokes the grant again', async () => {
    expect(await parley('pair', 'group', 'telegram', '-4010')).toContain('answers in telegram group -4010');
    fixture().telegram.says('-4010', `${NAME} hello`, '9100');
    await vi.waitFor(() => expect(screen('-4010').join('')).toContain('echo:'), WAIT);
    expect(await parley('pair', 'revoke', 'telegram', '-4010')).toContain('Revoked');
  });

  it.concurrent('ten messages a minute from one person, and reports each further one as too fast', async () => {
    const chat = people.next().value ?? '';
    for (let n = 0; n < 9; n += 1) fixture().telegram.says(chat, `fast ${n}`, chat);
    await taken();
    await fixture().idle(`telegram:${chat}`);
    const texts = screen(chat);
    expect(texts.filter((text) => text.includes('too fast'))).toHaveLength(4);
    expect(texts.filter((text) => text.startsWith('echo: fast'))).toHaveLength(5);
  });

  it.concurrent(`no more than ${MAX_PENDING} waiting messages of a chat, and reports that to the next`, async () => {
    const chat = people.next().value ?? '';
    fixture().ollama.answer({ hold: true }, { when: `block ${chat}` });
    fixture().telegram.says(chat, `block ${chat}`, chat);
    await fixture().modelCall(`block ${chat}`);
    const waiting = await fixture().store.ledger.sessionOf(`telegram:${chat}`);
    expect(waiting).toBe(`telegram:${chat}`);
    for (let n = 1; n < MAX_PENDING; n += 1) {
      const accepted = await fixture().store.ledger.accept({
        address: `telegram:${chat}`,
        entry: 'runStream',
        message: {
          id: `filler ${n}`,
          channel: 'telegram',
          chatId: chat,
          senderId: chat,
          content: `filler ${n}`,
          timestamp: 0,
          media: [],
          place: 'private',
          mentioned: true,
        },
      });
      expect(accepted.kind).toBe('accepted');
    }
    fixture().telegram.says(chat, 'one too many', chat);
    await vi.waitFor(() => expect(screen(chat).join('')).toContain(`${MAX_PENDING} of your messages`), WAIT);
    fixture().telegram.says(chat, '/stop', chat);
    await vi.waitFor(() => expect(screen(chat).join('\n')).toMatch(/199 queued messages were dropped/), WAIT);
    fixture().telegram.says(chat, 'free again', chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toMatch(/^echo: [^]*free again$/), WAIT);
  });

  it.concurrent('nothing it does not know: odd updates are skipped, and the next message is answered', async () => {
    const chat = people.next().value ?? '';
    const { telegram } = fixture();
    telegram.update({ message_reaction: { chat: { id: Number(chat) }, actor_chat: null, date: 1 } });
    telegram.update({ message: { message_id: 'x', chat: null, from: 7 } });
    telegram.update({ brand_new_kind: { deep: [[[{}]]] } });
    telegram.update({
      channel_post: { message_id: 1, date: 1, chat: { id: -1009, type: 'channel' }, text: 'post' },
    });
    telegram.says(chat, '', chat, { fields: { text: undefined, sticker: { file_id: 'abc' } } });
    telegram.says(chat, 'odd \u0000 \ud800 👩‍👩‍👧‍👦', chat);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('👩‍👩‍👧‍👦'), WAIT);
    await taken();
    expect((await fixture().gateway.health()).channels['telegram']?.state).toBe('up');
  });
});
