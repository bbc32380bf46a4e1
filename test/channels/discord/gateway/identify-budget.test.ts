/** Sessions with Discord's gateway over simulated days: never near the 1,000 at which Discord resets the token. */
import { wordedHealth } from '../../../fakes/gateway/worded-health.ts';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { IdentifyBudget, JITTER_MS } from '../../../../channels/discord/gateway/identify-budget.ts';
import { type BudgetKeys, budgetKeysOf } from '../../../../channels/discord/gateway/shard.ts';
import { MemoryConnections } from '../../../fakes/stores/connections.ts';
import type { GatewayFailure } from '../../../fakes/discord/gateway/gateway.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';

const DAY_MS = 24 * 3_600_000;
const KEY = (setup: DiscordSetup): string => `discord:${setup.discord.platform.bot.id}`;

/** A clock that skips every wait, up to an end. */
class JumpingClock {
  readonly #begin = Date.UTC(2026, 0, 1, 9);
  readonly #end: number;
  #now = this.#begin;

  constructor(forMs: number) {
    this.#end = this.#begin + forMs;
  }

  get isOver(): boolean {
    return this.#now >= this.#end;
  }

  now = (): number => this.#now;

  pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    this.#now += ms;
    await immediate();
    if (!this.isOver || signal.aborted) return;
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  };
}

describe('sessions with a gateway that flaps', () => {
  let setup: DiscordSetup;
  afterEach(async () => {
    await setup.close();
  });

  async function open(clock: JumpingClock): Promise<void> {
    const { now, pause } = clock;
    const timing = { epochNow: now, pause, identifySpacingMs: 5_100, retryBaseMs: 1_000 };
    setup = await DiscordSetup.open({ now, identifySpacingMs: 5_000, timing });
  }
  const isOver = async (clock: JumpingClock): Promise<void> => {
    await vi.waitFor(() => expect(clock.isOver).toBe(true), { timeout: 60_000, interval: 20 });
  };

  const failures: GatewayFailure[] = ['close_at_identify', 'cut_after_ready', 'refuse_sessions'];
  it.each(failures)('are at most 200 in a day: %s', async (failure) => {
    const clock = new JumpingClock(DAY_MS);
    await open(clock);
    const { gateway } = setup.discord;
    gateway.failure = failure;
    const started = setup.start();
    await isOver(clock);
    expect(gateway.counts.identifies).toBeLessThanOrEqual(200);
    expect(gateway.counts.identifies).toBeGreaterThan(20);
    expect(gateway.tokenReset).toBe(false);
    await setup.channel.stop();
    await started;
  });

  it('are as few when the process restarts after each of them, or another node takes over', async () => {
    // Of 200 a day 57 begin in the first six hours, because the wait has to grow.
    const clock = new JumpingClock(DAY_MS / 4);
    await open(clock);
    const { gateway } = setup.discord;
    gateway.failure = 'close_at_identify';
    while (!clock.isOver) {
      const before = gateway.counts.identifies;
      const started = setup.start();
      await vi.waitFor(() => expect(gateway.counts.identifies > before || clock.isOver).toBe(true), {
        timeout: 10_000,
        interval: 1,
      });
      await setup.channel.stop();
      await started;
      setup.replace();
    }
    expect(gateway.counts.identifies).toBeLessThanOrEqual(57);
    expect(gateway.counts.identifies).toBeGreaterThan(8);
  });

  it('start immediately after a session that received for five minutes', async () => {
    const clock = new JumpingClock(DAY_MS);
    await open(clock);
    const sound = { begunAt: clock.now() - 400_000, heardAt: clock.now() - 60_000 };
    setup.connections.records.set(KEY(setup), {
      ...sound,
      day: '2026-01-01',
      begunOnDay: 9,
      shortSessions: 9,
    });
    await setup.start();
    expect(clock.now() - sound.begunAt).toBe(400_000);
    expect(setup.connections.records.get(KEY(setup))).toMatchObject({ begunOnDay: 10, shortSessions: 1 });
  });

  it.each([
    ['Discord', 49, 1],
    ['the own count', 1_000, 951],
  ])('stop when %s leaves fewer than 50, report it, and continue the next day', async (_who, left, begun) => {
    const clock = new JumpingClock(3_600_000);
    await open(clock);
    const { gateway } = setup.discord;
    gateway.counts.startsLeft = left;
    const record = {
      begunAt: clock.now() - 7_000_000,
      day: '2026-01-01',
      begunOnDay: begun,
      shortSessions: 1,
    };
    setup.connections.records.set(KEY(setup), record);
    const started = setup.start();
    await isOver(clock);
    expect(gateway.counts.identifies).toBe(0);
    expect(wordedHealth(setup.channel).detail).toMatch(
      /^Too many sessions .* resets the bot token after 1000; .* at 2026-01-0[12]T/,
    );
    expect(setup.log.join('')).toContain('discord_session_starts_exhausted');
    await setup.channel.stop();
    await started;
    gateway.counts.startsLeft = 1_000;
    setup.replace();
    await setup.start();
    expect(gateway.counts.identifies).toBe(1);
  });

  it('begin with 50 left', async () => {
    await open(new JumpingClock(DAY_MS));
    setup.discord.gateway.counts.startsLeft = 50;
    await setup.start();
    expect(setup.channel.health()).toEqual({ state: 'up' });
  });
});

const keysOf = (session: string): BudgetKeys => ({ session, group: session, all: [session] });

it('starts sessions on one of two nodes at a time', async () => {
  const connections = new MemoryConnections();
  let now = Date.UTC(2026, 0, 1);
  const nodes = [1, 2].map(() => new IdentifyBudget(connections, () => now, 5_000));
  const waits = await Promise.all(nodes.map((node) => node.waitMs('discord:1')));
  expect(waits).toEqual([0, 0]);
  const counted: boolean[] = [];
  for (const node of nodes) counted.push(await node.count(keysOf('discord:1')));
  expect(counted).toEqual([true, false]);
  now += 5_000;
  expect(await nodes[1]?.count(keysOf('discord:1'))).toBe(true);
  // A clock that was set back blocks no one.
  now -= 3_600_000;
  expect(await nodes[0]?.waitMs('discord:1')).toBeLessThanOrEqual(10_000);
  expect(await nodes[0]?.count(keysOf('discord:1'))).toBe(true);
});

it('starts shards of one group one after another, those of different groups at the same time, and counts all of them for the day', async () => {
  const connections = new MemoryConnections();
  let now = Date.UTC(2026, 0, 1);
  const randoms = [0, 0.5, 1];
  const budget = new IdentifyBudget(
    connections,
    () => now,
    5_000,
    () => randoms.shift() ?? 0,
  );
  const keys = [0, 1, 2].map((id) => budgetKeysOf('1', { id, count: 3 }, 2));
  const counted: boolean[] = [];
  for (const shard of keys) counted.push(await budget.count(shard));
  // Shard 2 shares its group with shard 0.
  expect(counted).toEqual([true, true, false]);
  // Nodes that wait for the same moment do not all identify at it.
  const waits: number[] = [];
  for (const shard of keys) waits.push(await budget.groupWaitMs(shard));
  expect(waits).toEqual([5_000, 5_000 + JITTER_MS / 2, 5_000 + JITTER_MS]);
  now += 5_000;
  const third = keys[2];
  if (third === undefined) throw new Error('no third shard');
  expect(await budget.groupWaitMs(third)).toBe(0);
  expect(await budget.count(third)).toBe(true);
  const limit = { total: 53, remaining: 1_000, reset_after: 1, max_concurrency: 2 };
  expect(await budget.exhaustedMs(third, limit)).toBeUndefined();
  now += 5_000;
  expect(await budget.count(third)).toBe(true);
  expect(await budget.exhaustedMs(third, limit)).toBeGreaterThan(0);
});
