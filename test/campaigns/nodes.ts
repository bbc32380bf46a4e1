/** Three nodes on one Postgres, each with a proxy and its own clock: killed, frozen, cut off, delayed, set wrong. */
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { setClock, withOwnClock } from '../crash/clocks.ts';
import { type Failure, gatewayAt, kill, runningOf, type Stage } from '../crash/failure.ts';
import { arrive } from '../crash/moments.ts';
import { readOpen } from '../crash/rows.ts';
import type { TcpProxy } from '../fakes/network/tcp-proxy.ts';
import { type Campaign, repeated, runOptions, scaled } from './campaign.ts';

const MINUTE_MS = 60_000;
/** Steps of a node's clock, in milliseconds. */
const CLOCK_STEPS = [10, -10, 120, -120, 0].map((minutes) => minutes * MINUTE_MS);
/** A process stays frozen for this long, in milliseconds, and up to twice as long: longer than its lease. */
const FROZEN_MS = 15_000;
const CUT_OFF_MS = 8_000;
const DELAYED_MS = 6_000;
const DELAY_MS = 500;
const RESETS = 4;

function proxyAt({ scenario }: Stage, at: number): TcpProxy {
  const proxy = scenario.proxies[at % scenario.proxies.length];
  if (proxy === undefined) throw new Error('A run of several nodes needs a proxy before each.');
  return proxy;
}

/** Waits until the nodes are busy, harms one of them for a while, and counts from the start what others take over. */
function harm(name: string, during: (stage: Stage, at: number) => Promise<void>): Failure {
  return {
    name,
    async strike(stage, at) {
      await arrive('busy', stage);
      const instance = await stage.scenario.instance(gatewayAt(stage.scenario, at));
      const struck = runningOf(await stage.scenario.read(readOpen), [instance]);
      const since = performance.now();
      await during(stage, at);
      return { since, measure: 'takeover', struck };
    },
  };
}

const killed: Failure = {
  name: 'kill',
  async strike(stage, at) {
    await arrive('busy', stage);
    return await kill(stage, gatewayAt(stage.scenario, at), true);
  },
};

const frozen = harm('freeze', async (stage, at) => {
  const gateway = gatewayAt(stage.scenario, at);
  gateway.freeze();
  await pause(FROZEN_MS * (1 + stage.random()));
  gateway.thaw();
});

const cutOff = harm('cut off', async (stage, at) => {
  const proxy = proxyAt(stage, at);
  proxy.swallow();
  await pause(CUT_OFF_MS * (1 + 2 * stage.random()));
  proxy.restore();
});

const delayed = harm('delay', async (stage, at) => {
  const proxy = proxyAt(stage, at);
  proxy.delay(DELAY_MS);
  await pause(DELAYED_MS);
  proxy.delay(0);
});

const reset = harm('reset', async (stage, at) => {
  for (let nth = 0; nth < RESETS; nth += 1) {
    proxyAt(stage, at).reset();
    await pause(200);
  }
});

const clock = harm('clock', async ({ scenario }, at) => {
  const { folder, gateways } = scenario;
  setClock(at % gateways.length, folder, CLOCK_STEPS[at % CLOCK_STEPS.length] ?? 0);
  await pause(1_000);
});

export const nodes: Campaign = {
  name: 'nodes',
  about:
    'three nodes on one Postgres: 120 times killed, frozen, cut off, delayed, reset, or with a wrong clock',
  databases: ['postgres'],
  run(setup) {
    const count = scaled(120, setup.share, 3);
    return runCampaign({
      ...runOptions(setup),
      gateways: 3,
      proxied: true,
      processes: withOwnClock,
      messages: count * 24,
      sessions: { http: 12, telegram: 4, discord: 4 },
      failures: repeated([reset, clock, killed, cutOff, delayed, frozen, clock], count),
    });
  },
};
