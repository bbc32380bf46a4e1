/** Discord posts commands to the gateway, signed: they are answered, and nothing that is not signed is read. */
import { expect, it, vi } from 'vitest';
import { STALE_MS } from '../../../../channels/discord/interactions/endpoint.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const ROUTE = '/v1/interactions/discord';
const file = { access: { discord: { dm: 'open' } } };

describeGateway('interactions that Discord posts', { discord: true, file }, (fixture) => {
  const endpoint = () => fixture().discord.platform.endpoint;

  it('are accepted after the Developer Portal has verified the address', async () => {
    const { discord, gateway } = fixture();
    await endpoint().save(gateway.url + ROUTE);
    const { channel, person } = discord.dm();
    discord.slash(channel, 'ask', { prompt: 'hello' }, person);
    await vi.waitFor(() => expect(discord.screen(channel)).toEqual(['echo: hello']), WAIT);
    discord.slash(channel, 'status', {}, person);
    await vi.waitFor(() => expect(discord.screen(channel, person)).toHaveLength(2), WAIT);
    discord.press(channel, 'Regenerate', person);
    await vi.waitFor(() => expect(discord.screen(channel, person).length).toBeGreaterThan(2), WAIT);
    await vi.waitFor(() => expect(endpoint().statuses).toEqual([202, 202, 202]), WAIT);
  });

  it("are refused if unsigned, signed for another body, too old or from the future, and at other channels' addresses", async () => {
    const body = JSON.stringify({ type: 1 });
    const now = Date.now();
    const post = async (headers: Record<string, string>, route = ROUTE): Promise<number> => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
      return (await fetch(fixture().gateway.url + route, init)).status;
    };
    const signed = endpoint().headers(body);
    expect(await post(signed)).toBe(200);
    const stale = endpoint().headers(body, now - STALE_MS - 2_000);
    const early = endpoint().headers(body, now + STALE_MS + 5_000);
    const wrong = [
      {},
      endpoint().headers(`${body} `),
      stale,
      early,
      { ...signed, 'x-signature-ed25519': 'ff' },
    ];
    for (const headers of wrong) expect(await post(headers)).toBe(401);
    expect(await post(signed, '/v1/interactions/telegram')).toBe(401);
    expect(await post(signed, '/v1/interactions/nobody')).toBe(401);
    // Discord tries wrong signatures on purpose: a hundred of them lock no one out.
    for (let n = 0; n < 100; n += 1) expect(await post({})).toBe(401);
    expect(await post(signed)).toBe(200);
  });

  it('that are signed but malformed are refused', async () => {
    for (const body of ['[]', 'no JSON', '{"type":"1"}']) {
      const init = { method: 'POST', headers: endpoint().headers(body), body };
      expect((await fetch(fixture().gateway.url + ROUTE, init)).status).toBe(400);
    }
  });
});

describeGateway('interactions while another node has the connection', { discord: true, file }, (fixture) => {
  it('are answered by any node: here while there is no connection at all', async () => {
    const { discord, gateway } = fixture();
    await discord.platform.endpoint.save(gateway.url + ROUTE);
    await vi.waitFor(() => expect(discord.gateway.open).toBe(1), WAIT);
    discord.gateway.failure = 'close_at_identify';
    discord.gateway.forgetSessions();
    discord.gateway.cut();
    const { channel, person } = discord.dm();
    discord.slash(channel, 'ask', { prompt: 'still there?' }, person);
    await vi.waitFor(() => expect(discord.screen(channel)).toEqual(['echo: still there?']), WAIT);
    expect(discord.gateway.connected).toEqual([]);
  });
});
