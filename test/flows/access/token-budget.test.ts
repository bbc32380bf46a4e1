/** The daily budget of tokens over a whole gateway: what waits in queues when it is used up is not answered. */
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../setup.ts';

const WAITING = 8;
const SESSIONS = ['one', 'two'];
const file = { limits: { tokensPerDay: 100 } };

describeGateway('a token whose budget is used up by a turn', { file }, (fixture) => {
  it('gets no answer to what already waits behind it, in any session, but the reason', async () => {
    const { ollama, store } = fixture();
    const token = 'parley_budget-0123456789abcdef0123456789abcdef';
    await store.access.putToken({ hash: hashSecret(token), name: 'budget', scopes: ['chat'] });
    const post = (session: string, content: string): Promise<Response> =>
      fixture().call(`/v1/sessions/http:${session}/messages`, { token, json: { content } });
    for (const session of SESSIONS) {
      ollama.answer({ text: 'words '.repeat(150), hold: true }, { when: `begin ${session}` });
      expect((await post(session, `begin ${session}`)).status).toBe(202);
      await fixture().modelCall(`begin ${session}`);
      for (let n = 0; n < WAITING; n += 1) expect((await post(session, `more ${n}`)).status).toBe(202);
    }
    for (const session of SESSIONS) (await fixture().modelCall(`begin ${session}`)).release();
    for (const session of SESSIONS) await fixture().idle(`http:${session}`);
    const answered = ollama.calls.filter(({ body }) => lastUserText(body).startsWith('more'));
    // The first behind one may have begun before the other had ended.
    expect(answered.length).toBeLessThanOrEqual(1);
    const [row] = await fixture().sql<{ failed: number }[]>`
      select count(*)::int as failed from turn where reason = 'failed' and failure ->> 'code' = 'rate_limited'`;
    expect(row?.failed).toBeGreaterThanOrEqual(SESSIONS.length * WAITING - 1);
    await vi.waitFor(async () => {
      const answer = await fixture().call('/v1/sessions/http:one/messages', { token });
      expect(await answer.text()).toContain('You have used your 100 tokens for today');
    }, WAIT);
  });
});
