/** Signing in at an MCP server: asked for in /status, done with a browser, renewed on its own, and asked for again. */
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { createLogins, loginsFolder } from '../../../src/mcp/index.ts';
import { login } from '../../../src/mcp/oauth/login.ts';
import { createServiceFetch } from '../../../src/security/index.ts';
import { writeWhole } from '../../../src/settings/index.ts';
import { type FakeOauthServer, startFakeOauthServer } from '../../fakes/mcp/oauth-server.ts';
import { describeGateway, WAIT } from '../setup.ts';

const servers: FakeOauthServer[] = [];
const service = createServiceFetch();
afterAll(async () => {
  await service.close();
  await Promise.all(servers.map((server) => server.close()));
});

async function furnish(home: string): Promise<void> {
  const server = await startFakeOauthServer();
  servers.push(server);
  const file = { mcp: { servers: { notes: { url: server.url } } } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
}

describeGateway('an MCP server that requires a sign-in', { furnish }, (fixture) => {
  const server = (): FakeOauthServer => {
    const [first] = servers;
    if (first === undefined) throw new Error('no server has been started');
    return first;
  };
  const status = async (): Promise<string> => {
    const init = { json: { content: '/status' } };
    const answer = await fixture().call('/v1/sessions/http:looks/messages', init);
    const { reply = '' }: { reply?: string } = await answer.json();
    return reply;
  };
  const expectStatus = (what: RegExp): Promise<void> =>
    vi.waitFor(async () => expect(await status()).toMatch(what), WAIT);
  /** Signs in as a person does; `browse` is what the browser does with the address. */
  const signIn = async (
    browse: (address: string) => Promise<unknown> = (address) => fetch(address),
    ask?: (question: string) => Promise<string>,
  ): Promise<void> => {
    const folder = loginsFolder(fixture().home);
    const said: string[] = [];
    const say = (text: string): void => {
      said.push(text);
      const [address = ''] = /http\S+/.exec(text) ?? [];
      void browse(address);
    };
    const logins = createLogins(folder, writeWhole);
    const deps = { logins, request: service.request, say, ask };
    await login(deps, { name: 'notes', url: server().url }, AbortSignal.timeout(10_000));
    expect(said).toHaveLength(1);
  };
  const file = (): string => path.join(loginsFolder(fixture().home), 'notes.json');

  it('is named in /status with the command to run, and connected as soon as someone has signed in', async () => {
    await expectStatus(/notes: down[^]*run "npx parley mcp login notes"/);
    expect(server().asked.filter((route) => route.startsWith('POST /register'))).toEqual([]);
    await signIn();
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    await expectStatus(/notes: up, 1 tool/);
    expect(fixture().log.join('')).not.toContain(server().tokens[0]);
  });

  it('is not asked for again when the token has expired: it is renewed during the call', async () => {
    const before = server().tokens.length;
    server().expire();
    fixture().ollama.answer({ toolCalls: [{ name: 'notes__look', args: {} }] }, { when: 'look it up' });
    await fixture().post('looks', 'look it up');
    const id = await vi.waitFor(async () => {
      const { approvals }: { approvals: { id: string }[] } = await (
        await fixture().call('/v1/approvals')
      ).json();
      if (approvals[0] === undefined) throw new Error('nobody is asked');
      return approvals[0].id;
    }, WAIT);
    await fixture().call(`/v1/approvals/${id}`, { json: { decision: 'approved' } });
    await fixture().idle('http:looks');
    const { body } = await fixture().modelCall('look it up');
    expect(body.messages.findLast(({ role }) => role === 'tool')?.content).toContain('seen');
    expect(server().tokens).toHaveLength(before + 2);
  });

  it('survives a restart, and is asked for again once the server has revoked it', async () => {
    await fixture().restart();
    await expectStatus(/notes: up/);
    server().revoke();
    await fixture().restart();
    await expectStatus(/notes: down[^]*run "npx parley mcp login notes"/);
    expect(await status()).not.toContain('notes: up');
  });

  it('can be done on another machine, by pasting the address at which the browser ends', async () => {
    const opened = Promise.withResolvers<string>();
    await signIn(
      async (address) => opened.resolve(address),
      async () => {
        const answer = await fetch(await opened.promise, { redirect: 'manual' });
        return answer.headers.get('location') ?? '';
      },
    );
    await expectStatus(/notes: up/);
    expect(await status()).not.toContain('mcp login');
  });

  it("that the person refuses is reported with the reason, and someone else's answer is not accepted", async () => {
    server().refuses = true;
    const refused = signIn(async (address) => {
      const callback = new URL(address).searchParams.get('redirect_uri') ?? '';
      expect((await fetch(`${callback}?code=stolen&state=other`)).status).toBe(400);
      await fetch(address);
    });
    await expect(refused).rejects.toThrow('The server refused the sign-in: access_denied');
    server().refuses = false;
  });
});
