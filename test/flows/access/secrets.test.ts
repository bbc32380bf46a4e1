/** Secrets stay where they were put: not in the log, the rows, a prompt, or on a screen — even when things go wrong. */
import { expect, it, vi } from 'vitest';
import { DISCORD_TOKEN } from '../../fakes/discord/discord.ts';
import { FAKE_TOKEN } from '../../fakes/telegram/telegram.ts';
import { describeGateway, FRIENDS, OWNER, WAIT } from '../setup.ts';

const file = { access: { telegram: { allow: FRIENDS }, discord: { dm: 'open' } } };
const env = { LLM_STREAM_FIRST_CHUNK_TIMEOUT: '2' };

describeGateway('secrets', { telegram: true, discord: true, file, env }, (fixture) => {
  it('appear nowhere, even if every platform fails while the gateway is busy', async () => {
    const { telegram, discord, ollama, store } = fixture();
    const [chat = '', other = ''] = FRIENDS;
    const { channel, person } = discord.dm();
    telegram.says('9300', 'a stranger', '9300');
    await vi.waitFor(() => expect(telegram.screen('9300').join('')).toContain('pair approve'), WAIT);
    telegram.failure({ kind: 'cut', method: 'getUpdates' });
    telegram.failure({ kind: 'page', method: 'sendChatAction' });
    telegram.failure({ kind: 'cut', method: 'sendMessage' });
    discord.failure({ kind: 'cut', match: /typing/ });
    discord.failure({ kind: 'status', status: 502, match: /POST .*messages/ });
    const secretive = {
      toolCalls: [
        { name: 'read_file', args: { path: '../../../token' } },
        { name: 'list_dir', args: { path: '../..' } },
      ],
    };
    ollama.answer(secretive, { when: 'where are your secrets' });
    ollama.answer(
      { failure: { kind: 'status', status: 500, error: 'out of memory' } },
      { when: 'fail', times: 3 },
    );
    telegram.says(chat, 'where are your secrets', chat);
    telegram.says(other, 'fail', other);
    discord.says(channel, 'where are your secrets', person);
    discord.slash(channel, 'status', {}, person);
    await fixture().post('busy', 'where are your secrets');
    const wrong = await fixture().call('/v1/models', { token: `${OWNER}-but-wrong` });
    await vi.waitFor(() => expect(discord.screen(channel).join('\n')).toContain('echo:'), {
      ...WAIT,
      timeout: 25_000,
    });
    await vi.waitFor(() => expect(telegram.screen(chat).join('\n')).toContain('echo:'), {
      ...WAIT,
      timeout: 25_000,
    });
    const pairing = /pair approve (\w+)/.exec(telegram.screen('9300').join(''))?.[1] ?? 'no code';
    const [pending] = await store.access.pairings();
    expect(pending?.senderId).toBe('9300');

    const secrets = [OWNER, FAKE_TOKEN, FAKE_TOKEN.split(':')[1] ?? '', DISCORD_TOKEN];
    const outgoing = [chat, other, '9300']
      .flatMap((id) => telegram.screen(id))
      .concat(discord.screen(channel, person));
    const places = {
      log: fixture().log.join('\n'),
      rows: await fixture().dump(),
      prompts: JSON.stringify(ollama.calls.map(({ body }) => body)),
      screens: outgoing.join('\n'),
      answers: `${await wrong.text()}${JSON.stringify(await fixture().gateway.health())}`,
    };
    for (const [place, text] of Object.entries(places)) {
      expect(text.length, `length of ${place}`).toBeGreaterThan(10);
      for (const secret of secrets)
        expect(text.includes(secret), `${place} holds ${secret.slice(0, 6)}…`).toBe(false);
    }
    // The pairing code is for the stranger alone; its delivery is a row until it is on screen and purged.
    expect(places.log).not.toContain(pairing);
    expect(places.prompts).not.toContain(pairing);
    expect(ollama.authorizations.join('')).toBe('');
  });

  it('of Discord’s interactions are not logged when their answers fail, though anyone could answer with them', async () => {
    const { discord, log } = fixture();
    const { channel, person } = discord.dm();
    for (const status of [400, 500, 404])
      discord.failure({ kind: 'status', status, match: /interactions|webhooks/ });
    discord.failure({ kind: 'cut', match: /interactions|webhooks/ });
    for (let n = 0; n < 6; n += 1) discord.slash(channel, 'status', {}, person);
    await vi.waitFor(() => expect(log.join('')).toMatch(/Discord answered with status 500/), WAIT);
    await vi.waitFor(() => expect(discord.screen(channel, person).length).toBeGreaterThan(0), WAIT);
    const tokens = [...discord.platform.interactions.keys()];
    expect(tokens.length).toBeGreaterThanOrEqual(6);
    for (const token of tokens) expect(log.filter((line) => line.includes(token))).toEqual([]);
  });
});
