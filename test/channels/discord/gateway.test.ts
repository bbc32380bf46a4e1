/** The Discord gateway under its faults: resume, lost sessions, zombies, fatal closes, a network that goes away. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreError } from '../../../src/contracts/errors.ts';
import { ACCEPTED, DiscordHouse, failureOf } from '../../fakes/discord/setup.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/world.ts';

const WAIT = { timeout: 10_000, interval: 10 };

describe('the connection to the Discord gateway', () => {
  let house: DiscordHouse;
  let channel: FakeChannel;
  let ada: FakePerson;

  async function open(options: Parameters<typeof DiscordHouse.open>[0] = {}): Promise<void> {
    house = await DiscordHouse.open(options);
    ({ channel, person: ada } = house.discord.dm('Ada'));
  }
  beforeEach(async () => {
    await open();
  });
  afterEach(async () => {
    await house.close();
  });
  const says = (text: string): void => {
    house.discord.says(channel, text, ada);
  };
  const isUp = async (): Promise<void> => {
    await vi.waitFor(() => expect(house.channel.health()).toEqual({ state: 'up' }), WAIT);
  };
  const arrives = async (texts: string[]): Promise<void> => {
    await vi.waitFor(() => expect(new Set(house.contents)).toEqual(new Set(texts)), WAIT);
  };

  it('resumes after a forced close and gets what was said meanwhile, in order (reliability 4.5)', async () => {
    await house.start();
    const said: string[] = [];
    for (const code of [4_000, 4_001, 4_002, 4_008, 1_001]) {
      house.discord.gateway.close(code);
      said.push(`after ${code}`, `and after ${code}`);
      says(`after ${code}`);
      says(`and after ${code}`);
      await arrives(said);
    }
    expect(house.contents).toEqual(said);
  });

  it('resumes without an identify when asked to reconnect (op 7) or to try again (op 9, resumable)', async () => {
    await house.start();
    house.discord.gateway.askReconnect();
    says('during op 7');
    await arrives(['during op 7']);
    house.discord.gateway.invalidate(true);
    says('during op 9');
    await arrives(['during op 7', 'during op 9']);
    expect(house.discord.gateway.counts.identifies).toBe(1);
  });

  it('reads the history of its chats when the session cannot be resumed', async () => {
    await house.start();
    says('heard');
    await arrives(['heard']);
    house.discord.gateway.invalidate(false);
    says('missed one');
    says('missed two');
    await arrives(['heard', 'missed one', 'missed two']);
    await isUp();
    says('live again');
    await vi.waitFor(() => expect(house.contents.at(-1)).toBe('live again'), WAIT);
    expect(house.contents).toEqual(['heard', 'missed one', 'missed two', 'live again']);
  });

  it('reads at most 500 missed messages of a chat, oldest first, and logs that there are more', async () => {
    await house.start();
    says('heard');
    await arrives(['heard']);
    house.discord.gateway.forgetSessions();
    for (let i = 1; i <= 501; i += 1) says(`missed ${i}`);
    house.discord.gateway.cut();
    await vi.waitFor(() => expect(house.contents).toHaveLength(501), WAIT);
    await vi.waitFor(() => expect(house.log.join('')).toContain('more missed messages'), WAIT);
    expect(house.contents.at(-1)).toBe('missed 500');
  });

  it('reads on in known conversations after a restart of the process, but repeats no old command', async () => {
    const room = house.discord.world.addChannel(0);
    says('while nobody listened');
    says('/stop');
    says('/new');
    house.discord.says(room, 'in the room', ada, { mention: true });
    const at = new Date();
    const keys = [`discord:${channel.id}`, `discord:${room.id}`, 'telegram:5', 'http:page'] as const;
    house.sessions = keys.map((key) => ({
      key,
      profileId: 'default',
      mode: 'planner',
      queueMode: 'queue',
      createdAt: at,
      updatedAt: at,
      messageCount: 1,
    }));
    await house.start();
    await arrives(['while nobody listened', 'in the room']);
    expect(house.contents).toHaveLength(2);
    const found = new Map(house.received.map((message) => [message.content, message]));
    expect(found.get('in the room')).toMatchObject({ place: 'group', mentioned: true });
    expect(found.get('while nobody listened')).toMatchObject({ place: 'private' });
    expect(house.discord.rest.calls.join()).not.toContain('/channels/5');
  });

  it('resumes a connection on which one heartbeat stays without an answer (reliability 4.5)', async () => {
    await house.close();
    await open({ heartbeatMs: 200 });
    await house.start();
    const { counts } = house.discord.gateway;
    house.discord.gateway.makeZombies();
    const before = counts.heartbeats;
    says('into the void');
    await arrives(['into the void']);
    expect(counts).toMatchObject({ resumes: 1, identifies: 1 });
    // One without an answer, and perhaps the first on the new connection.
    expect(counts.heartbeats - before).toBeLessThanOrEqual(2);
  });

  it.each([
    [4_004, 'DISCORD_BOT_TOKEN'],
    [4_014, 'Message Content Intent'],
    [4_013, 'update Parley'],
  ])('is dead after close code %i and says what mends it', async (code, words) => {
    await house.start();
    house.discord.gateway.close(code);
    await vi.waitFor(() => expect(house.channel.health().state).toBe('dead'), WAIT);
    expect(house.channel.health().detail).toContain(words);
    const { connections } = house.discord.gateway.counts;
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(house.discord.gateway.counts.connections).toBe(connections);
  });

  it('does not start with the Message Content Intent switched off, and names the switch', async () => {
    house.discord.gateway.messageContentAllowed = false;
    const failure = await failureOf(house.start());
    expect(failure.message).toContain('Message Content Intent');
    expect(house.channel.health().state).toBe('dead');
  });

  it('does not start with a refused token, and calls once only', async () => {
    await house.close();
    await open({ token: 'MTIz.wrong.token' });
    const failure = await failureOf(house.start());
    expect(failure).toMatchObject({ code: 'unauthorized', retryable: false });
    expect(failure.message).not.toContain('wrong');
    expect(house.discord.limits.invalid).toBe(1);
  });

  it('keeps trying while the network is away at the start, and receives when it is back', async () => {
    const { port } = house.discord;
    await house.discord.disappear();
    const started = house.start();
    await vi.waitFor(
      () => expect(house.log.filter((line) => line.includes('login')).length).toBeGreaterThan(2),
      WAIT,
    );
    expect(house.channel.health().state).toBe('starting');
    await house.discord.listen(port);
    await started;
    says('back');
    await arrives(['back']);
  });

  it('comes back after an outage with a fresh session and closes the gap', async () => {
    await house.start();
    says('before');
    await arrives(['before']);
    const { port } = house.discord;
    await house.discord.disappear();
    house.discord.gateway.forgetSessions();
    await vi.waitFor(() => expect(house.channel.health().state).toBe('degraded'), WAIT);
    says('during');
    await house.discord.listen(port);
    await arrives(['before', 'during']);
    await isUp();
  });

  it('replaces a client that only fails to reconnect, instead of resuming for ever (complaint 14)', async () => {
    await house.start();
    const { gateway } = house.discord;
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
    const { connections } = house.discord.gateway.counts;
    // discord.js by itself connects again 500 ms after it was destroyed: wait longer and see nothing.
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(house.discord.gateway.counts.connections).toBe(connections);
    expect(house.discord.gateway.open).toBe(0);
    expect(house.channel.health()).toEqual({ state: 'off' });
  };

  it('leaves no connection when stopped before the gateway said hello', async () => {
    const started = house.start();
    await vi.waitFor(() => expect(house.discord.gateway.counts.connections).toBe(1), { interval: 0 });
    await house.channel.stop();
    await started;
    await staysGone();
  });

  it('makes no connection when stopped while it asks where the gateway is', async () => {
    const gate = Promise.withResolvers<void>();
    house.discord.fault({ kind: 'hold', match: /gateway/, until: gate.promise });
    const started = house.start();
    await vi.waitFor(() => expect(house.discord.rest.calls.join()).toContain('/gateway/bot'), WAIT);
    await house.channel.stop();
    await started;
    gate.resolve();
    await staysGone();
    expect(house.discord.gateway.counts.connections).toBe(0);
  });

  it('leaves no connection when stopped while reconnecting', async () => {
    await house.start();
    house.discord.gateway.close(4_000);
    await vi.waitFor(() => expect(house.channel.health().state).toBe('degraded'), WAIT);
    await house.channel.stop();
    await staysGone();
  });

  it('keeps messages in order while the store is away, and leaves the 101st to the history', async () => {
    let away = true;
    house.verdict = () =>
      away
        ? Promise.reject(new StoreError('unavailable', 'no store', { retryable: true }))
        : Promise.resolve(ACCEPTED);
    await house.start();
    const said = Array.from({ length: 150 }, (_, i) => `word ${i}`);
    for (const text of said) says(text);
    await vi.waitFor(() => expect(house.contents.length).toBeGreaterThan(0), WAIT);
    away = false;
    await arrives(said);
    const ids = house.received.map(({ id }) => id);
    expect([...new Set(ids)]).toEqual(
      [...ids].sort((a, b) => Number(BigInt(a) - BigInt(b))).filter((id, i, all) => id !== all[i - 1]),
    );
  });

  it('survives events it cannot read', async () => {
    await house.start();
    house.discord.gateway.dispatch('MESSAGE_CREATE', 0, () => ({ id: 7, content: null }));
    house.discord.gateway.dispatch('SOMETHING_NEW', 0, () => ({ what: 'ever' }));
    says('normal');
    await vi.waitFor(() => expect(house.contents).toEqual(['normal']), WAIT);
  });
});
