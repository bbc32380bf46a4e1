/** The page inside Telegram: the account behind a sign-in is the Telegram user, with that user's rights and no others. */
import { expect, it, vi } from 'vitest';
import { pageSession } from '../page-session.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { initData } from './init-data.ts';

const URL_OF_PAGE = 'https://chat.example.org/';
const DAY_S = 86_400;

describeGateway(
  'the page inside Telegram',
  {
    telegram: true,
    file: {
      access: { telegram: { allow: ['7001', '7002'] }, owners: { telegram: ['7009'] } },
      channels: { telegram: { miniApp: { url: URL_OF_PAGE } } },
    },
  },
  (fixture) => {
    const signIn = async (data: string): Promise<Response> =>
      await fetch(`${fixture().gateway.url}/v1/sign-in/app`, {
        method: 'POST',
        headers: { 'x-parley-page': '1', 'content-type': 'application/json' },
        body: JSON.stringify({ data }),
      });
    const codeOf = async (response: Response): Promise<unknown> => {
      const { error }: { error?: { code?: string } } = await response.json();
      return [response.status, error?.code];
    };
    const call = async (session: Record<string, string>, path: string, json?: object): Promise<Response> =>
      await fetch(`${fixture().gateway.url}${path}`, {
        headers: { ...session, ...(json && { 'content-type': 'application/json' }) },
        ...(json && { method: 'POST', body: JSON.stringify(json) }),
      });

    it('is opened by the button beside the message field', async () => {
      const { telegram } = fixture();
      const button = { type: 'web_app', text: 'Chat page', web_app: { url: `${URL_OF_PAGE}?framed=1` } };
      await vi.waitFor(() => expect(telegram.introduction.menuButton).toEqual(button), WAIT);
    });

    it('signs a person in, who has their own chats there and no one else’s', async () => {
      fixture().ollama.answer({ text: 'Hello from the page.' }, { when: 'Hello page' });
      const ada = await pageSession(await signIn(initData('7001')));
      const posted = await call(ada, '/v1/sessions/http:ada-page/messages', { content: 'Hello page' });
      expect(posted.status).toBe(202);
      await vi.waitFor(async () => {
        const texts = (await fixture().messages('http:ada-page')).map(({ content }) => content);
        expect(texts).toEqual(['Hello page', 'Hello from the page.']);
      }, WAIT);
      const grace = await pageSession(await signIn(initData('7002')));
      expect((await call(grace, '/v1/sessions/http:ada-page')).status).toBe(404);
      expect((await call(ada, '/v1/sessions/telegram:7002')).status).toBe(404);
      // Signing in again is the same person.
      const again = await pageSession(await signIn(initData('7001')));
      expect((await call(again, '/v1/sessions/http:ada-page')).status).toBe(200);
      const { tokens }: { tokens: { name: string; scopes: string[] }[] } = await (
        await fixture().call('/v1/tokens')
      ).json();
      const names = tokens.map(({ name }) => name).filter((name) => name.startsWith('telegram:'));
      expect(names).toEqual(['telegram:7001', 'telegram:7002']);
    });

    it('gives not even an owner the scope admin', async () => {
      const owner = await pageSession(await signIn(initData('7009')));
      expect((await call(owner, '/v1/sessions')).status).toBe(200);
      for (const path of ['/v1/settings', '/v1/tokens']) expect((await call(owner, path)).status).toBe(403);
    });

    it('refuses a forged signature, one that is a day old, and a stranger', async () => {
      const forged = initData('7001').replace('7001', '7002');
      expect(await codeOf(await signIn(forged))).toEqual([401, 'invalid_sign_in']);
      const old = await signIn(initData('7001', DAY_S + 60));
      expect(await old.clone().text()).toContain('more than a day old');
      expect(await codeOf(old)).toEqual([401, 'invalid_sign_in']);
      expect(await codeOf(await signIn(initData('6666')))).toEqual([403, 'unknown_user']);
    });

    it('is needed only by the page: another site cannot sign a browser in', async () => {
      const { url } = fixture().gateway;
      const headers = { 'content-type': 'application/json', origin: 'https://evil.example' };
      const body = JSON.stringify({ data: initData('7001') });
      const response = await fetch(`${url}/v1/sign-in/app`, { method: 'POST', headers, body });
      expect(response.status).toBe(403);
    });

    it('ends when the person loses their access, and stays refused once their token is revoked', async () => {
      const { store } = fixture();
      await store.access.addGrant('telegram', 'dm', '7003');
      const session = await pageSession(await signIn(initData('7003')));
      expect((await call(session, '/v1/sessions')).status).toBe(200);
      await store.access.removeGrant('telegram', 'dm', '7003');
      await vi.waitFor(async () => expect((await call(session, '/v1/sessions')).status).toBe(401), WAIT);
      await store.access.addGrant('telegram', 'dm', '7003');
      await vi.waitFor(async () => expect((await call(session, '/v1/sessions')).status).toBe(200), WAIT);
      const token = (await store.access.tokens()).find(({ name }) => name === 'telegram:7003');
      await store.access.revokeToken(token?.tokenId ?? '');
      expect(await codeOf(await signIn(initData('7003')))).toEqual([403, 'unknown_token']);
      await vi.waitFor(async () => expect((await call(session, '/v1/sessions')).status).toBe(401), WAIT);
    });
  },
);

describeGateway('a gateway without a page inside Telegram', { telegram: true }, (fixture) => {
  it('accepts no such sign-in', async () => {
    const response = await fetch(`${fixture().gateway.url}/v1/sign-in/app`, {
      method: 'POST',
      headers: { 'x-parley-page': '1', 'content-type': 'application/json' },
      body: JSON.stringify({ data: initData('7001') }),
    });
    expect(response.status).toBe(401);
  });
});
