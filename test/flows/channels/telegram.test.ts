/** Telegram, from what a user writes to what their screen shows, through a whole gateway. */
import { expect, it, vi } from 'vitest';
import type { Answer, ChatBody } from '../../fakes/ollama/ollama.ts';
import { lastUserText, messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';
import type { FakeMessage } from '../../fakes/telegram/chats.ts';
import { describeGateway, FRIENDS, HALF, WAIT } from '../setup.ts';

const people = FRIENDS.values();

describeGateway('Telegram', { telegram: true }, (fixture) => {
  /** A new user writes; the model answers them with this. */
  const someone = (): string => people.next().value ?? '';
  const asks = (answer: Answer, text = 'hello'): string => {
    const chat = someone();
    fixture().ollama.answer(answer, { when: `${text} ${chat}` });
    fixture().telegram.says(chat, `${text} ${chat}`, chat);
    return chat;
  };
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const stored = async (chat: string): Promise<string[]> => {
    const messages = await fixture().messages(`telegram:${chat}`);
    return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  };
  /** Waits until this many turns have ended and their deliveries, too. */
  const settled = async (chat: string, turns = 1): Promise<FakeMessage[]> => {
    await vi.waitFor(async () => {
      expect(await stored(chat)).toHaveLength(turns);
    }, WAIT);
    await fixture().idle(`telegram:${chat}`);
    return fixture().telegram.messages(chat);
  };
  const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

  it.concurrent('lets the answer grow by edits and end as exactly the stored text (N-01, B-43)', async () => {
    const chat = asks({ text: words(60), failure: HALF });
    await fixture().releaseOnce(chat, () => screen(chat).join().endsWith('word29'));
    await vi.waitFor(() => expect(screen(chat)).toEqual([words(60)]), WAIT);
    const [answer] = await settled(chat);
    expect(answer?.shown.length).toBeGreaterThan(1);
    for (const [index, shown] of (answer?.shown ?? []).entries()) {
      expect(words(60).startsWith(shown), `text ${index} is a beginning of the whole`).toBe(true);
    }
    expect(await stored(chat)).toEqual([words(60)]);
  });

  it.concurrent('shows typing before the first word and none after the end', async () => {
    const chat = asks({ text: 'done', hold: true });
    const call = await fixture().modelCall(chat);
    await vi.waitFor(
      () => expect(fixture().telegram.chats.peek(chat)?.actions.length).toBeGreaterThan(0),
      WAIT,
    );
    call.release();
    await settled(chat);
    expect(fixture().telegram.chats.peek(chat)?.actions).toEqual([{ action: 'typing' }]);
  });

  it.concurrent('splits a long answer into messages, with every fence and table closed within its own', async () => {
    const code = Array.from({ length: 250 }, (_, n) => `const value${n} = "a < b && c > ${n} 🎈";`).join(
      '\n',
    );
    const table = Array.from({ length: 60 }, (_, n) => `| row ${n} | **bold ${n}** |`).join('\n');
    const text = `# Long\n\n\`\`\`ts\n${code}\n\`\`\`\n\nThen a table:\n\n| a | b |\n| - | - |\n${table}\n\nThe *end*.`;
    const chat = asks({ text });
    await vi.waitFor(() => expect(screen(chat).join('\n')).toContain('The end.'), WAIT);
    const messages = await settled(chat);
    expect(messages.length).toBeGreaterThan(2);
    const all = messages.map((message) => message.text).join('\n');
    for (let n = 0; n < 250; n += 1) expect(all).toContain(`const value${n} = "a < b && c > ${n} 🎈";`);
    for (let n = 0; n < 60; n += 1) expect(all).toContain(`bold ${n}`);
    for (const { text: shown, entities } of messages) {
      expect(shown.length).toBeLessThanOrEqual(4_096);
      const isCode = (at: number): boolean =>
        entities.some(({ type, offset, length }) => type === 'pre' && at >= offset && at < offset + length);
      for (const line of shown.matchAll(/const value\d+ =/g)) expect(isCode(line.index)).toBe(true);
    }
    expect(await stored(chat)).toEqual([text]);
  });

  it('answers /start with what it can do, without a model, and offers the same commands in its menu', async () => {
    const chat = someone();
    const { commands } = await (await fixture().call('/v1/commands')).json();
    const names = commands.map(({ name }: { name: string }) => name);
    const calls = fixture().ollama.calls.length;
    fixture().telegram.says(chat, '/start', chat);
    fixture().telegram.says(chat, '/start invite-7', chat);
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(2), WAIT);
    for (const shown of screen(chat)) {
      expect(shown).toMatch(/^Hello!/);
      for (const name of names) expect(shown).toContain(`/${name}`);
    }
    const { introduction } = fixture().telegram;
    type Listed = { name: string; owners?: true; place?: 'group' };
    const forAll = commands.filter(({ owners }: Listed) => owners !== true);
    const menu = forAll.map(({ name }: Listed) => ({ command: name }));
    expect(introduction.commandsOf('default')).toMatchObject(menu);
    expect(introduction.commandsOf('all_private_chats')).toMatchObject(menu);
    expect(introduction.commandsOf('default de')).toHaveLength(menu.length);
    expect(fixture().ollama.calls).toHaveLength(calls);
  });

  it('sends the same text plain when Telegram cannot parse its entities', async () => {
    const refuse = { kind: 'status', status: 400, method: 'sendMessage' } as const;
    fixture().telegram.failure({
      ...refuse,
      description: "Bad Request: can't parse entities: unexpected end tag",
    });
    const chat = asks({ text: 'some **bold** words' });
    await settled(chat);
    expect(screen(chat).join('')).toContain('bold');
    expect(screen(chat)).toHaveLength(1);
  });

  it('waits as long as Telegram asks it to, and then shows the whole answer', async () => {
    fixture().telegram.rateLimit(2);
    const chat = asks({ text: words(30), perSecond: 30 });
    await vi.waitFor(() => expect(screen(chat)).toEqual([words(30)]), WAIT);
    expect(fixture().telegram.flood.violations).toEqual([]);
  });

  it('shows a tool while it runs, then the answer (B-12, B-42)', async () => {
    const chat = asks({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }] });
    fixture().ollama.answer({ text: words(30), hold: true }, { when: (body) => saysAfterTool(body, chat) });
    await vi.waitFor(() => expect(screen(chat)).toEqual(['⚙ list_dir ✓']), WAIT);
    const call = await fixture().modelCall(chat);
    call.release();
    await vi.waitFor(() => expect(screen(chat)).toEqual([words(30)]), WAIT);
    expect(await stored(chat)).toEqual([words(30)]);
  });

  it.concurrent('ends a running answer within a second of /stop, and keeps its text (N-58, N-60)', async () => {
    const chat = asks({ text: words(4_000), perSecond: 20 });
    await vi.waitFor(() => expect(screen(chat).join('')).toContain('word5'), WAIT);
    const call = await fixture().modelCall(chat);
    const asked = performance.now();
    fixture().telegram.says(chat, '/stop', chat);
    const closed = await call.closed;
    expect(closed.by).toBe('client');
    expect(closed.at - asked).toBeLessThan(1_000);
    await vi.waitFor(() => expect(screen(chat)).toContain('Stopped.'), WAIT);
    await settled(chat);
    const [said = ''] = await stored(chat);
    expect(said).toMatch(/^word0 word1 .*\*\(stopped\)\*$/s);
    expect(oneLine(screen(chat)[0])).toBe(oneLine(said.replaceAll('*', '')));
  });

  it.concurrent('forgets the conversation at /new, and only then (B-35)', async () => {
    const chat = someone();
    const say = async (text: string, turns: number): Promise<string[]> => {
      fixture().telegram.says(chat, `${text} ${chat}`, chat);
      await settled(chat, turns);
      const { body } = await fixture().modelCall(`${text} ${chat}`);
      return messagesWithoutNotes(body.messages.slice(1)).map(({ content }) => content);
    };
    await say('one', 1);
    expect(await say('two', 2)).toEqual([`one ${chat}`, `echo: one ${chat}`, `two ${chat}`]);
    fixture().telegram.says(chat, '/new', chat);
    await vi.waitFor(() => expect(screen(chat).join('\n')).toContain('new conversation'), WAIT);
    expect(await say('three', 3)).toEqual([`three ${chat}`]);
  });

  it.concurrent('answers /status and /help without a model, while a turn hangs', async () => {
    const chat = asks({ hold: true });
    await fixture().modelCall(chat);
    fixture().telegram.says(chat, '/status', chat);
    fixture().telegram.says(chat, '/help', chat);
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(2), WAIT);
    expect(screen(chat)[0]).toContain('Model: fake:latest');
    for (const command of ['/stop', '/new', '/status', '/help']) expect(screen(chat)[1]).toContain(command);
    fixture().telegram.says(chat, '/stop', chat);
    await vi.waitFor(() => expect(screen(chat)).toContain('Stopped.'), WAIT);
  });

  it.concurrent('answers messages that arrive while it is busy later, in order', async () => {
    const chat = asks({ text: 'first answer', hold: true });
    const call = await fixture().modelCall(chat);
    fixture().telegram.says(chat, 'second', chat);
    fixture().telegram.says(chat, 'third', chat);
    await vi.waitFor(() => expect(fixture().telegram.updates.unconfirmed).toBe(0), WAIT);
    expect(screen(chat)).toEqual([]);
    call.release();
    await vi.waitFor(
      () => expect(screen(chat)).toEqual(['first answer', 'echo: second', 'echo: third']),
      WAIT,
    );
  });
});

/** The model is called again about this chat's message, with results of its tools. */
function saysAfterTool(body: ChatBody, chat: string): boolean {
  return lastUserText(body).includes(chat) && body.messages.some(({ role }) => role === 'tool');
}

/** Telegram may strip space at the end of a line. */
function oneLine(text = ''): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
