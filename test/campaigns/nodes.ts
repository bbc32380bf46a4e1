/** Three nodes on one Postgres, each with a proxy and its own clock: killed, frozen, cut off, delayed, set wrong. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { setClock, withOwnClock } from '../crash/clocks.ts';
import { type Failure, gatewayAt, kill, runningOf, type Stage } from '../crash/failure.ts';
import { arrive } from '../crash/moments.ts';
import { readOpen } from '../crash/rows.ts';
import type { TcpProxy } from '../fakes/network/tcp-proxy.ts';
import { programPath } from '../runs/needs.ts';
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
/** How often NATS goes away and comes back at once, and how long each state lasts at most, in milliseconds. */
const FLAPS = 4;
const FLAP_MS = 2_500;

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

/** A NATS server of its own, which can go away and come back; without the program, the nodes use the database alone. */
async function startNats(): Promise<{ url: string; flap: Failure; close(): void } | undefined> {
  if (programPath('nats-server') === undefined) return undefined;
  const port = await freePort();
  const listens = async (): Promise<void> => {
    while (!(await canConnect(port))) await pause(50);
  };
  const start = () => spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  let server = start();
  await listens();
  const flap = harm('NATS flaps', async ({ random }) => {
    for (let nth = 0; nth < FLAPS; nth += 1) {
      server.kill('SIGKILL');
      await pause(FLAP_MS * random());
      server = start();
      await listens();
      await pause(FLAP_MS * random());
    }
  });
  return { url: `nats://127.0.0.1:${port}`, flap, close: () => void server.kill('SIGKILL') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const clock = harm('clock', async ({ scenario }, at) => {
  const { folder, gateways } = scenario;
  setClock(at % gateways.length, folder, CLOCK_STEPS[at % CLOCK_STEPS.length] ?? 0);
  await pause(1_000);
});

export const nodes: Campaign = {
  name: 'nodes',
  about:
    'three nodes on one Postgres: 120 times killed, frozen, cut off, delayed, reset, with a wrong clock, or with NATS going up and down',
  databases: ['postgres'],
  async run(setup) {
    const count = scaled(120, setup.share, 4);
    const nats = await startNats();
    if (nats === undefined) process.stderr.write('SKIPPED: NATS that flaps; install nats-server.\n');
    const flaps = nats === undefined ? [] : [nats.flap];
    try {
      return await runCampaign({
        ...runOptions(setup),
        gateways: 3,
        proxied: true,
        processes: withOwnClock,
        ...(nats && { environment: { NATS_URL: nats.url } }),
        messages: count * 24,
        sessions: { http: 12, telegram: 4, discord: 4, slack: 2, matrix: 2 },
        failures: repeated([reset, clock, killed, ...flaps, cutOff, delayed, frozen, clock], count),
      });
    } finally {
      nats?.close();
    }
  },
};
