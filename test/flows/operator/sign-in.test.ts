/** Signing in with a link: what works once, what never works, and who may end it. */
import { expect, it } from 'vitest';
import { ADMIN_SIGN_IN_MS, CODE_MS, SIGN_IN_MS } from '../../../src/protocol/operator/sign-in.ts';
import { signInLink } from '../../../src/security/index.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { parley } from '../../child.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { pageSession } from '../page-session.ts';

const PAGE = { 'x-parley-page': '1', 'content-type': 'application/json' };

describeGateway('signing in with a link', {}, (fixture) => {
  const at = (path: string) => fixture().gateway.url + path;
  const freshCode = async (): Promise<string> => {
    const link = (await fixture().gateway.signInLink()) ?? '';
    expect(link).toMatch(new RegExp(`^${fixture().gateway.url}/#code=[\\w-]{22}$`));
    return link.split('=')[1] ?? '';
  };
  const redeem = (code: string, headers: Record<string, string> = {}) =>
    fetch(at('/v1/sign-in'), {
      method: 'POST',
      headers: { ...PAGE, ...headers },
      body: JSON.stringify({ code }),
    });
  const signIn = async () => {
    const response = await redeem(await freshCode());
    expect(response.status).toBe(200);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^parley_session_\d+=[\w-]{22}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    );
    const session = await pageSession(response);
    expect(session['x-parley-page']).toMatch(/^[\w-]{21}$/);
    return session;
  };
  const ask = (session: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(at('/v1/sessions'), { headers: { ...session, ...headers } });

  it('gives a browser the rights of an admin with a code that works once, and the token is in no address', async () => {
    const code = await freshCode();
    const [one, other] = await Promise.all([redeem(code), redeem(code)]);
    expect(new Set([one.status, other.status])).toEqual(new Set([200, 401]));
    expect((await redeem(code)).status).toBe(401);
    const session = await signIn();
    expect((await ask(session)).status).toBe(200);
    const health = await fetch(at('/readyz'), { headers: session });
    expect(await health.json()).toHaveProperty('version');
    const dump = await fixture().dump();
    expect(dump).not.toContain(session.cookie.split('=')[1]);
    expect(dump).not.toContain(session['x-parley-page']);
  });

  it('refuses codes that are too old or guessed, and slows down guessing', async () => {
    const { sql } = fixture();
    const code = await freshCode();
    await sql`update sign_in set expires_at = now() - interval '1 second' where hash = ${hashSecret(`code:${code}`)}`;
    const late = await redeem(code);
    expect(late.status).toBe(401);
    expect(await late.text()).toContain('npx parley open');
    expect(CODE_MS).toBe(600_000);
    const guesses: number[] = [];
    for (let n = 0; n < 30; n += 1) guesses.push((await redeem(`guess-${n}`)).status);
    expect(guesses).toContain(429);
    // The right one still gets in.
    expect((await redeem(await freshCode())).status).toBe(200);
  });

  it('accepts the cookie from its own page only: not from forms, other sites, or allowed origins', async () => {
    const session = await signIn();
    const host = new URL(fixture().gateway.url).host;
    expect((await ask({ cookie: session.cookie })).status).toBe(401);
    expect((await ask(session, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask(session, { origin: `http://localhost:${host.split(':')[1]}` })).status).toBe(403);
    expect((await ask(session, { 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await ask(session, { origin: `http://${host}` })).status).toBe(200);
    expect((await redeem(await freshCode(), { origin: 'https://evil.example' })).status).toBe(403);
    const bare = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"code":"x"}' };
    expect((await fetch(at('/v1/sign-in'), bare)).status).toBe(403);
    const secure = await redeem(await freshCode(), { 'x-forwarded-proto': 'https' });
    expect(secure.headers.get('set-cookie')).not.toContain('Secure');
  });

  it('gives nothing to a server on another port of the host, which the browser sends the cookie to', async () => {
    const session = await signIn();
    const [, value = ''] = session.cookie.split('=');
    const key = session['x-parley-page'];
    const own = { origin: fixture().gateway.url, 'sec-fetch-site': 'same-origin' };
    const stolen: Record<string, string>[] = [
      { cookie: session.cookie, 'x-parley-page': '1', ...own },
      { cookie: session.cookie, 'x-parley-page': value, ...own },
      { cookie: `${session.cookie}${key}`, 'x-parley-page': '1' },
      { 'x-parley-page': key },
      { authorization: `Session ${value}` },
      // Not even the whole secret counts outside the browser.
      { authorization: `Session ${value}${key}` },
      { authorization: `session ${value}${key}` },
      { authorization: `Bearer ${value}${key}` },
    ];
    for (const headers of stolen) expect([401, 429]).toContain((await ask(headers)).status);
    expect((await ask(session)).status).toBe(200);
  });

  it('lists the sessions, and ends them from the page, by id, with the command, and with their token', async () => {
    const on = fixture();
    const { env, store } = on;
    const [first, second, third, fourth] = [await signIn(), await signIn(), await signIn(), await signIn()];
    const out = await fetch(at('/v1/sign-out'), { method: 'POST', headers: first });
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
    await expect.poll(async () => (await ask(first)).status, WAIT).toBe(401);
    const listed = (await (await on.call('/v1/sign-ins')).json()) as {
      signIns: { id: string; client: string }[];
    };
    expect(listed.signIns[0]).toMatchObject({ client: 'node' });
    const [newest, next] = listed.signIns;
    expect((await on.call(`/v1/sign-ins/${newest?.id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await on.call(`/v1/sign-ins/${newest?.id}`, { method: 'DELETE' })).status).toBe(404);
    await expect.poll(async () => (await ask(fourth)).status, WAIT).toBe(401);
    expect((await parley(['sign-ins'], env)).stdout).toContain(`${next?.id}  token `);
    expect((await parley(['sign-ins', 'revoke', next?.id ?? ''], env)).stdout).toContain('Signed out');
    await expect.poll(async () => (await ask(third)).status, WAIT).toBe(401);

    // At the address of the gateway that runs, whatever PORT this shell has.
    const opened = await parley(['open'], { ...env, PORT: '8080' });
    expect(opened.stdout).toContain(`${on.gateway.url}/#code=`);
    const code = /#code=([\w-]+)/.exec(opened.stdout)?.[1] ?? '';
    expect((await redeem(code)).status).toBe(200);
    expect((await parley(['open', 'nothing'], env)).stderr).toContain('There is no such token');
    expect((await ask(second)).status).toBe(200);
    const mine = await store.access.putToken({ hash: hashSecret('x'), name: 'mine', scopes: ['chat'] });
    const link = await parley(['open', mine.tokenId], env);
    const small = await redeem(/#code=([\w-]+)/.exec(link.stdout)?.[1] ?? '');
    const ofMine = await pageSession(small);
    expect((await ask(ofMine)).status).toBe(200);
    expect((await fetch(at('/metrics'), { headers: ofMine })).status).toBe(403);
    await store.access.revokeToken(mine.tokenId);
    await expect.poll(async () => (await ask(ofMine)).status, WAIT).toBe(401);
  });

  it('ends with admin rights after three days without use, which each use extends, and otherwise after thirty', async () => {
    const { sql, store } = fixture();
    const forToken = async (tokenId?: string) => {
      const to = { url: fixture().gateway.url, tokenId };
      const link = (await signInLink(store.access, store.signIns, to)) ?? '';
      return await pageSession(await redeem(link.split('=')[1] ?? ''));
    };
    const person = await store.access.putToken({ hash: hashSecret('y'), name: 'guest', scopes: ['chat'] });
    const [ofAdmin, ofGuest] = [await forToken(), await forToken(person.tokenId)];
    const idle = (beyondMs: number) => sql`
      update sign_in set created_at = now() - ${ADMIN_SIGN_IN_MS + beyondMs}::float8 * interval '1 millisecond'
      where kind = 'session'`;
    const newestEnds = async () => {
      const { signIns } = (await (await fixture().call('/v1/sign-ins')).json()) as {
        signIns: { expiresAt: string }[];
      };
      return signIns.map(({ expiresAt }) => new Date(expiresAt).getTime());
    };
    await idle(-60_000);
    for (const session of [ofAdmin, ofGuest]) expect((await ask(session)).status).toBe(200);
    // The use of a minute before the end moved it by three days.
    await expect
      .poll(
        async () => (await newestEnds()).some((ends) => ends > Date.now() + ADMIN_SIGN_IN_MS - 600_000),
        WAIT,
      )
      .toBe(true);
    await sql`update sign_in set last_used_at = null`;
    await idle(60_000);
    await expect.poll(async () => (await ask(ofAdmin)).status, WAIT).toBe(401);
    expect((await ask(ofGuest)).status).toBe(200);
    expect(ADMIN_SIGN_IN_MS * 10).toBe(SIGN_IN_MS);
  });
});
