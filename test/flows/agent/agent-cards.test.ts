/** Messages with buttons that a conversation leaves on screens: none waits or works on once it is deleted or begun anew. */
import { expect, it, vi } from 'vitest';
import { openStore } from '../../../src/store/open-store.ts';
import { silentLog } from '../../database.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { ASKING_OWNERS, questionsOn } from '../surfaces/questions.ts';

const SETTINGS = {
  telegram: true,
  file: {
    tools: { enabled: ['spawn_agent', 'ask'] },
    access: { telegram: { allow: FRIENDS }, owners: { telegram: ASKING_OWNERS } },
  },
};

describeGateway('what a conversation leaves on screens', SETTINGS, (fixture) => {
  const { screen, seen, says, owner, asked, messageWith, copied, pressed } = questionsOn(fixture);
  const card = (chat: string) =>
    fixture()
      .telegram.messages(chat)
      .find(({ text }) => text.startsWith('◆') || text.includes('(over:'));
  /** A chat with a subagent that works on in the background. */
  const working = async (): Promise<string> => {
    const chat = owner();
    const { ollama } = fixture();
    const args = { task: `endless ${chat}`, background: true };
    ollama.answer({ toolCalls: [{ name: 'spawn_agent', args }] }, { when: `begin ${chat}` });
    ollama.answer({ text: 'Begun.' }, { when: `begin ${chat}` });
    ollama.answer({ text: 'never', hold: true }, { when: `endless ${chat}` });
    says(chat, `begin ${chat}`);
    await seen(chat, 'Begun.');
    await seen(chat, 'is working in the background');
    await fixture().modelCall(`endless ${chat}`);
    return chat;
  };
  const ended = (chat: string): Promise<void> =>
    vi.waitFor(() => {
      expect(screen(chat)).not.toContain('is working');
      expect(card(chat)?.buttons).toEqual([]);
    }, WAIT);
  /** Lets the subagent end, and waits until its chat has refused to show that. */
  const remainsUntold = async (chat: string): Promise<void> => {
    for (const call of fixture().ollama.calls) call.release();
    await vi.waitFor(async () => {
      const dead = await fixture().sql`
        select from lane_item where lane = ${`out:telegram:${chat}`} and dead and dedupe like 'card:%'`;
      expect(dead).toHaveLength(1);
    }, WAIT);
  };
  const remove = async (chat: string): Promise<void> => {
    const answer = await fixture().call(`/v1/sessions/telegram:${chat}`, { method: 'DELETE' });
    expect(answer.status).toBe(200);
  };

  it('is over when the session is deleted while its subagent works', async () => {
    const chat = await working();
    await remove(chat);
    await ended(chat);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).not.toContain('is working');
  });

  it('is over when the rows are deleted under a subagent that no one has stopped', async () => {
    const chat = await working();
    await fixture().store.ledger.deleteSession(`telegram:${chat}`);
    await ended(chat);
    for (const call of fixture().ollama.calls) call.release();
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).not.toContain('is working');
  });

  it('is over when the session is deleted while no gateway runs', async () => {
    const chat = await working();
    const question = await asked('Will you come?');
    const { home, env } = fixture();
    await fixture().restart(async () => {
      const databaseUrl = env['DATABASE_URL'];
      const store = await openStore({ home, databaseUrl, log: silentLog, attach: true, poolSize: 2 });
      await store.ledger.deleteSession(`telegram:${chat}`);
      await store.ledger.deleteSession(`telegram:${question.chat}`);
      await store.close();
    });
    await ended(chat);
    await seen(question.friend, '(over: its conversation was deleted)');
    expect(screen(question.friend)).not.toContain('Will you come?');
  });

  it('is over once a person who has blocked the bot is back, although the subagent ended before', async () => {
    const { telegram, sql } = fixture();
    const chat = await working();
    await fixture().idle(`telegram:${chat}`);
    telegram.closeChat(chat);
    await remainsUntold(chat);
    expect(screen(chat)).toContain('is working in the background');
    telegram.openChat(chat);
    says(chat, 'I am back');
    await seen(chat, 'echo: I am back');
    await ended(chat);
    await fixture().idle(`telegram:${chat}`);
    const ends = await sql`
      select from lane_item where lane = ${`out:telegram:${chat}`} and dedupe like 'card:%:again'`;
    expect(ends).toHaveLength(1);
    says(chat, 'once more');
    await seen(chat, 'once more');
    await ended(chat);
  });

  it('is one card once the second one is pressed that a killed process has left', async () => {
    const chat = await working();
    await fixture().idle(`telegram:${chat}`);
    const first = messageWith(chat, 'is working in the background');
    const copy = await copied(chat, 'is working in the background');
    expect(await pressed(chat, 'Stop')).toBe('It is being stopped.');
    await vi.waitFor(() => {
      const shown = fixture().telegram.messages(chat);
      expect(shown.map(({ id }) => id)).not.toContain(copy);
      expect(shown.find(({ id }) => id === first)?.text).toContain('was stopped');
    }, WAIT);
  });

  it('is over with a new conversation', async () => {
    const chat = await working();
    says(chat, '/new');
    await ended(chat);
    expect(screen(chat)).toContain('was stopped');
  });

  it('is over for a person who was asked when the conversation is deleted', async () => {
    const { chat, friend } = await asked('Are you well?');
    await remove(chat);
    await seen(friend, 'No answer is needed any more.');
    says(friend, 'Yes, I am.');
    await seen(friend, 'echo: Yes, I am.');
    expect(screen(friend)).not.toContain('as your answer');
  });
});
