/** Codes that are entered on the web: the conversation there continues, and a chat of any network joins it. */
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
// No one types that fast; the limit of a sender has its own tests.
const SETTINGS = {
  telegram: true,
  file: { access: { telegram: { allow: FRIENDS } }, limits: { messagesPerMinute: 600, messagesAtOnce: 60 } },
};

describeGateway('codes that are entered on the web', SETTINGS, (fixture) => {
  const someone = (): string => people.next().value ?? '';
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const says = (chat: string, text: string): unknown => fixture().telegram.says(chat, text, chat);
  const seen = async (chat: string, text: string): Promise<void> => {
    await vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  };
  const codeOn = async (chat: string): Promise<string> => {
    says(chat, '/link');
    await seen(chat, '/link ');
    return /\/link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(screen(chat))?.[1] ?? '';
  };
  const of = (page: string, route: string): string => `/v1/sessions/http:${page}${route}`;
  const enter = (page: string, code: string, token?: string): Promise<Response> =>
    fixture().call(of(page, '/link'), { json: { code }, ...(token !== undefined && { token }) });
  const codeIn = async (answer: Response): Promise<[number, string]> => [
    answer.status,
    (await answer.json()).error.code,
  ];

  it('ask both sides, and the conversation on the web continues in both', async () => {
    const chat = someone();
    const page = `web${chat}`;
    says(chat, `only on Telegram ${chat}`);
    await seen(chat, `echo: only on Telegram ${chat}`);
    const entered = await enter(page, (await codeOn(chat)).toLowerCase());
    expect(entered.status).toBe(202);
    const { asks } = await entered.json();
    expect(asks).toMatchObject({ address: `telegram:${chat}`, place: 'private' });
    await seen(chat, 'The code from this chat was entered there');
    const listed = await (await fixture().call(of(page, '/surfaces'))).json();
    expect(listed).toEqual({ surfaces: [], asks });
    const agree = { json: { session: `http:${page}`, agree: true } };
    const waiting = await fixture().call(`/v1/links/${asks.id}`, agree);
    expect(await waiting.json()).toEqual({ state: 'waiting' });
    expect(await (await fixture().call(of(page, '/surfaces'))).json()).toEqual({ surfaces: [], asks: null });
    says(chat, '/link yes');
    await seen(chat, 'now shares this conversation');
    fixture().ollama.answer({ text: `To the web, ${chat}.` }, { when: `from the web ${chat}` });
    fixture().ollama.answer({ text: `To Telegram, ${chat}.` }, { when: `from Telegram ${chat}` });
    await fixture().post(page, `from the web ${chat}`);
    await seen(chat, `To the web, ${chat}.`);
    says(chat, `from Telegram ${chat}`);
    await seen(chat, `To Telegram, ${chat}.`);
    const call = await fixture().modelCall(`from Telegram ${chat}`);
    expect(JSON.stringify(call.body.messages)).not.toContain('only on Telegram');
    await fixture().idle(`http:${page}`);
    const stored = (await fixture().messages(`http:${page}`)).map(({ content }) => content);
    expect(stored).toEqual([
      `from the web ${chat}`,
      `To the web, ${chat}.`,
      `from Telegram ${chat}`,
      `To Telegram, ${chat}.`,
    ]);
    says(chat, '/unlink');
    await seen(chat, 'This chat is separate again');
    says(chat, `alone ${chat}`);
    await seen(chat, `echo: alone ${chat}`);
    expect(JSON.stringify((await fixture().modelCall(`alone ${chat}`)).body.messages)).toContain(
      'only on Telegram',
    );
  });

  it('explain what is wrong with a code, and block guessing by the token', async () => {
    const chat = someone();
    const [page, other] = [`wrong${chat}`, `other${chat}`];
    const token = 'a-token-that-guesses-codes-0123456789';
    await fixture().store.access.putToken({
      hash: hashSecret(token),
      name: 'guesser',
      scopes: ['chat', 'commands'],
    });
    const given = await fixture().call(of(other, '/links'), { method: 'POST' });
    const { code: web } = await given.json();
    expect(await codeIn(await enter(page, web))).toEqual([409, 'not_linkable']);
    expect(await codeIn(await enter(other, web))).toEqual([409, 'not_linkable']);
    const code = await codeOn(chat);
    expect((await enter(page, code)).status).toBe(202);
    expect(await codeIn(await enter(other, code))).toEqual([409, 'code_used']);
    says(chat, '/link no');
    await seen(chat, 'Declined');
    expect(await codeIn(await enter(page, code))).toEqual([410, 'code_expired']);
    expect((await enter(page, 'no', token)).status).toBe(404);
    for (let n = 0; n < 4; n += 1)
      expect(await codeIn(await enter('mine', 'AAAAA-00001', token))).toEqual([404, 'unknown_code']);
    const last = await enter('mine', 'AAAAA-00001', token);
    expect(last.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await codeIn(last)).toEqual([429, 'rate_limit_exceeded']);
    expect(await codeIn(await enter(`telegram:${chat}`, code))).toEqual([400, 'not_an_http_session']);
  });

  it('let the web keep its conversation when it separates, and every other chat leaves', async () => {
    const [first, second] = [someone(), someone()];
    const page = `home${first}`;
    for (const chat of [first, second]) {
      const { asks } = await (await enter(page, await codeOn(chat))).json();
      await fixture().call(`/v1/links/${asks.id}`, { json: { session: `http:${page}`, agree: true } });
      says(chat, '/link yes');
      await seen(chat, 'now shares this conversation');
    }
    await fixture().call(of(page, `/surfaces/http:${page}`), { method: 'DELETE' });
    for (const chat of [first, second]) await seen(chat, 'This chat is separate again');
    expect(await fixture().store.surfaces.surfaces(`http:${page}`)).toEqual([]);
    await fixture().post(page, `secret of the web ${first}`);
    await fixture().idle(`http:${page}`);
    for (const chat of [first, second]) expect(screen(chat)).not.toContain('secret of the web');
    for (const chat of [first, second])
      expect(await fixture().store.ledger.sessionOf(`telegram:${chat}`)).toBe(`telegram:${chat}`);
  });
});
