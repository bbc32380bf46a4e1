/** Failures of the Discord gateway connection: resume, lost sessions, missing heartbeats, fatal closes, outages. */
import { wordedHealth } from '../../../fakes/gateway/worded-health.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreError } from '../../../../src/protocol/errors.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { ACCEPTED } from '../../../fakes/gateway/channel-setup.ts';
import type { FakeChannel, FakePerson } from '../../../fakes/discord/platform.ts';

const WAIT = { timeout: 10_000, interval: 10 };

describe('the connection to the Discord gateway', () => {
  let setup: DiscordSetup;
  let channel: FakeChannel;
  let ada: FakePerson;

  async function open(options: Parameters<typeof DiscordSetup.open>[0] = {}): Promise<void> {
    setup = await DiscordSetup.open(options);
    ({ channel, person: ada } = setup.discord.dm('Ada'));
  }
  beforeEach(async () => {
    await open();
  });
  afterEach(async () => {
    await setup.close();
  });
  const says = (text: string): void => {
    setup.discord.says(channel, text, ada);
  };
  const isUp = async (): Promise<void> => {
    await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
  };
  const arrives = async (texts: string[]): Promise<void> => {
    await vi.waitFor(() => expect(new Set(setup.contents)).toEqual(new Set(texts)), WAIT);
  };

  it('resumes after a forced close and receives the messages missed in between, in order (reliability 4.5)', async () => {
    await setup.start();
    const said: string[] = [];
    for (const code of [4_000, 4_001, 4_002, 4_008, 1_001]) {
      setup.discord.gateway.close(code);
      said.push(`after ${code}`, `and after ${code}`);
      says(`after ${code}`);
      says(`and after ${code}`);
      await arrives(said);
    }
    expect(setup.contents).toEqual(said);
  });

  it('resumes without an identify when asked to reconnect (op 7) or to try again (op 9, resumable)', async () => {
    await setup.start();
    setup.discord.gateway.askReconnect();
    says('during op 7');
    await arrives(['during op 7']);
    setup.discord.gateway.invalidate(true);
    says('during op 9');
    await arrives(['during op 7', 'during op 9']);
    expect(setup.discord.gateway.counts.identifies).toBe(1);
  });

  it('reads the history of its chats when the session cannot be resumed', async () => {
    await setup.start();
    says('heard');
    await arrives(['heard']);
    setup.discord.gateway.invalidate(false);
    says('missed one');
    says('missed two');
    await arrives(['heard', 'missed one', 'missed two']);
    await isUp();
    says('live again');
    await vi.waitFor(() => expect(setup.contents.at(-1)).toBe('live again'), WAIT);
    expect(setup.contents).toEqual(['heard', 'missed one', 'missed two', 'live again']);
  });

  it('reads at most 500 missed messages of a chat, oldest first, and logs that there are more', async () => {
    await setup.start();
    says('heard');
    await arrives(['heard']);
    setup.discord.gateway.forgetSessions();
    for (let i = 1; i <= 501; i += 1) says(`missed ${i}`);
    setup.discord.gateway.cut();
    await vi.waitFor(() => expect(setup.contents).toHaveLength(501), WAIT);
    await vi.waitFor(() => expect(setup.log.join('')).toContain('discord_history_truncated'), WAIT);
    expect(setup.contents.at(-1)).toBe('missed 500');
  });

  it('resumes when one heartbeat is not answered (reliability 4.5)', async () => {
    await setup.close();
    await open({ heartbeatMs: 200 });
    await setup.start();
    const { counts } = setup.discord.gateway;
    setup.discord.gateway.ignoreHeartbeats();
    const before = counts.heartbeats;
    says('into the void');
    await arrives(['into the void']);
    expect(counts).toMatchObject({ resumes: 1, identifies: 1 });
    // One without an answer, and perhaps the first on the new connection.
    expect(counts.heartbeats - before).toBeLessThanOrEqual(2);
  });

  it.each([
    [4_011, 'shards'],
    [4_013, 'update Parley'],
  ])('is dead after close code %i and reports how to fix it', async (code, remedy) => {
    await setup.start();
    setup.discord.gateway.close(code);
    await vi.waitFor(() => expect(setup.channel.health().state).toBe('dead'), WAIT);
    expect(wordedHealth(setup.channel).detail).toContain(remedy);
    const { connections } = setup.discord.gateway.counts;
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(setup.discord.gateway.counts.connections).toBe(connections);
  });

  it('keeps asking while Discord refuses the token, without a connection, and never names it', async () => {
    await setup.close();
    await open({ token: 'MTIz.wrong.token' });
    const started = setup.start();
    const refused = (): number => setup.log.filter((line) => line.includes('discord_token_refused')).length;
    await vi.waitFor(() => expect(refused()).toBeGreaterThan(1), WAIT);
    expect(wordedHealth(setup.channel)).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining('DISCORD_BOT_TOKEN'),
    });
    expect(setup.log.join('') + JSON.stringify(setup.channel.health())).not.toContain('wrong');
    expect(setup.discord.gateway.counts.connections).toBe(0);
    await setup.channel.stop();
    await started;
  });

  it('reconnects once a token that the gateway refused (4004) is valid again', async () => {
    await setup.start();
    setup.discord.gateway.tokenReset = true;
    setup.discord.gateway.close(4_004);
    await vi.waitFor(() => expect(wordedHealth(setup.channel).detail).toContain('DISCORD_BOT_TOKEN'), WAIT);
    setup.discord.gateway.tokenReset = false;
    await isUp();
    says('after all');
    await arrives(['after all']);
  });

  it('keeps trying during an outage at the start, and receives once it has ended', async () => {
    const { port } = setup.discord;
    await setup.discord.disappear();
    const started = setup.start();
    await vi.waitFor(
      () =>
        expect(setup.log.filter((line) => line.includes('discord_connection_failed')).length).toBeGreaterThan(
          2,
        ),
      WAIT,
    );
    expect(setup.channel.health().state).toBe('degraded');
    await setup.discord.listen(port);
    await started;
    says('back');
    await arrives(['back']);
  });

  it('continues after an outage with a new session and reads the missed messages', async () => {
    await setup.start();
    says('before');
    await arrives(['before']);
    const { port } = setup.discord;
    await setup.discord.disappear();
    setup.discord.gateway.forgetSessions();
    await vi.waitFor(() => expect(setup.channel.health().state).toBe('degraded'), WAIT);
    says('during');
    await setup.discord.listen(port);
    await arrives(['before', 'during']);
    await isUp();
  });

  it('replaces a client that cannot reconnect, instead of resuming forever', async () => {
    await setup.start();
    const { gateway } = setup.discord;
    const hangUp = setInterval(() => {
      gateway.close(4_000);
    }, 5);
    await vi.waitFor(() => expect(gateway.counts.connections).toBeGreaterThan(7), {
      ...WAIT,
      timeout: 20_000,
    });
    clearInterval(hangUp);
    await isUp();
    says('still here');
    await arrives(['still here']);
    expect(gateway.counts.connections).toBeLessThan(20);
  });

  const staysGone = async (): Promise<void> => {
    const { connections } = setup.discord.gateway.counts;
    // On its own, discord.js reconnects 500 ms after it was destroyed: wait longer and expect nothing.
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(setup.discord.gateway.counts.connections).toBe(connections);
    expect(setup.discord.gateway.open).toBe(0);
    expect(setup.channel.health()).toEqual({ state: 'off' });
  };

  it("leaves no connection when stopped before the gateway's hello", async () => {
    const started = setup.start();
    await vi.waitFor(() => expect(setup.discord.gateway.counts.connections).toBe(1), { interval: 0 });
    await setup.channel.stop();
    await started;
    await staysGone();
  });

  it("makes no connection when stopped while it requests the gateway's address", async () => {
    const gate = Promise.withResolvers<void>();
    setup.discord.failure({ kind: 'hold', match: /gateway/, until: gate.promise });
    const started = setup.start();
    await vi.waitFor(() => expect(setup.discord.rest.calls.join()).toContain('/gateway/bot'), WAIT);
    await setup.channel.stop();
    await started;
    gate.resolve();
    await staysGone();
    expect(setup.discord.gateway.counts.connections).toBe(0);
  });

  it('leaves no connection when stopped while it waits to reconnect', async () => {
    await setup.close();
    await open({ timing: { retryBaseMs: 60_000 } });
    await setup.start();
    setup.discord.gateway.close(4_000);
    await vi.waitFor(() => expect(setup.channel.health().state).toBe('degraded'), WAIT);
    await setup.channel.stop();
    await staysGone();
  });

  it('keeps messages in order while the store is unavailable, and reads those past 100 from the history', async () => {
    let away = true;
    setup.verdict = () =>
      away
        ? Promise.reject(new StoreError('unavailable', 'no store', { retryable: true }))
        : Promise.resolve(ACCEPTED);
    await setup.start();
    const said = Array.from({ length: 150 }, (_, i) => `word ${i}`);
    for (const text of said) says(text);
    await vi.waitFor(() => expect(setup.contents.length).toBeGreaterThan(0), WAIT);
    away = false;
    await arrives(said);
    const ids = setup.received.map(({ id }) => id);
    expect([...new Set(ids)]).toEqual(
      [...ids].sort((a, b) => Number(BigInt(a) - BigInt(b))).filter((id, i, all) => id !== all[i - 1]),
    );
  });

  it('ignores events it cannot read', async () => {
    await setup.start();
    setup.discord.gateway.dispatch('MESSAGE_CREATE', 0, () => ({ id: 7, content: null }));
    setup.discord.gateway.dispatch('SOMETHING_NEW', 0, () => ({ what: 'ever' }));
    says('normal');
    await vi.waitFor(() => expect(setup.contents).toEqual(['normal']), WAIT);
  });
});
