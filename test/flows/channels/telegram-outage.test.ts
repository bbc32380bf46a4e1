/**
 * Telegram does not answer, refuses the token, or is blocked by a user: what the gateway does, and what users read
 * afterwards.
 */
import { expect, it, vi } from 'vitest';
import type { Answer } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();

describeGateway('unreachable Telegram', { telegram: true }, (fixture) => {
  /** A new user writes; the model answers them with this. */
  const asks = (answer: Answer, chat = people.next().value ?? ''): string => {
    const said = `hello ${chat} ${fixture().ollama.calls.length}`;
    fixture().ollama.answer(answer, { when: said });
    fixture().telegram.says(chat, said, chat);
    return chat;
  };
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

  it.each(['page', 'cut'] as const)(
    'shows an answer given during an outage (%s) once it is over, once',
    async (kind) => {
      const { telegram, log } = fixture();
      const chat = asks({ text: words(30), hold: true });
      const call = await fixture().modelCall(`hello ${chat}`);
      const before = log.length;
      telegram.outage = kind;
      call.release();
      await vi.waitFor(() => expect(log.slice(before).join('')).toContain('delivery_retried'), WAIT);
      expect(screen(chat)).toEqual([]);
      telegram.outage = undefined;
      await vi.waitFor(() => expect(screen(chat)).toEqual([words(30)]), WAIT);
      await fixture().idle(`telegram:${chat}`);
      expect(screen(chat)).toEqual([words(30)]);
    },
  );

  it('reports in /readyz that Telegram refuses the token, and receives again without a restart', async () => {
    const { telegram } = fixture();
    const state = async (): Promise<unknown> => {
      const answer = await fetch(`${fixture().gateway.url}/readyz`);
      const body: { channels: Record<string, { state: string }> } = await answer.json();
      return [answer.status, body.channels['telegram']?.state];
    };
    telegram.tokenValid = false;
    telegram.updates.end();
    await vi.waitFor(async () => expect(await state()).toEqual([200, 'degraded']), WAIT);
    telegram.tokenValid = true;
    const chat = asks({ text: 'here again' });
    await vi.waitFor(() => expect(screen(chat)).toEqual(['here again']), WAIT);
    expect(await state()).toEqual([200, 'up']);
  });

  it('stops the turn of a user who blocks the bot, and continues with them once they unblock it', async () => {
    const { telegram, sql } = fixture();
    const chat = asks({ text: words(4_000), perSecond: 20 });
    await vi.waitFor(() => expect(screen(chat).join('')).toContain('word5'), WAIT);
    const call = await fixture().modelCall(`hello ${chat}`);
    telegram.closeChat(chat);
    expect((await call.closed).by).toBe('client');
    await fixture().idle(`telegram:${chat}`);
    const turns = await sql`select reason from turn where session = ${`telegram:${chat}`}`;
    expect(turns).toMatchObject([{ reason: 'stopped' }]);
    const fragment = screen(chat);
    telegram.openChat(chat);
    asks({ text: 'welcome back' }, chat);
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(3), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).toEqual([
      ...fragment,
      expect.stringMatching(/^An earlier answer could not be delivered here/),
      'welcome back',
    ]);
  });

  it('loses no answer to an unknown kind of refusal from Telegram', async () => {
    const { telegram } = fixture();
    const refuse = { kind: 'status', status: 400, description: 'Bad Request: ENTITIES_TOO_LONG' } as const;
    const chat = asks({ text: 'some **bold** words', hold: true });
    const call = await fixture().modelCall(`hello ${chat}`);
    telegram.failure({ ...refuse, method: 'sendMessage', times: 1 });
    call.release();
    await vi.waitFor(() => expect(screen(chat)).toEqual(['some bold words']), WAIT);
  });
});
