/** Rows 6 and 7: how soon the gateway is ready, and how much memory it uses when idle. */
import { setTimeout as pause } from 'node:timers/promises';
import { FakeDiscord } from '../fakes/discord/discord.ts';
import { variablesOf } from '../fakes/networks.ts';
import { FakeTelegram } from '../fakes/telegram/telegram.ts';
import { type Figure, median } from './figures.ts';
import { familyMb } from './process-cpu.ts';
import type { RunningGateway } from './gateway-setup.ts';

const STARTS = 5;
/** V8 returns startup memory some ten seconds after it was collected. */
const SETTLE_MS = 30_000;
const READY_MS = { postgres: 1_000, embedded: 2_000 };
/** Of the gateway, and of all its processes: the embedded database belongs to them. */
const IDLE_MB = { gateway: 150, all: 260 };

/** Row 6: from the start of the process to the first 200 of /readyz, over a database that has data. */
export async function startToReady(gateway: RunningGateway): Promise<Figure> {
  const seen: number[] = [];
  for (let nth = 0; nth < STARTS; nth += 1) seen.push((await gateway.restart()).readyAfterMs);
  return {
    row: 6,
    what: 'start to ready, existing data',
    on: gateway.on,
    value: median(seen),
    unit: 'ms',
    bar: { atMost: gateway.on === 'postgres' ? READY_MS.postgres : READY_MS.embedded },
    note: `median of ${seen.map(Math.round).join(', ')}`,
  };
}

/** Row 7: resident memory with three channels on, some seconds after they are up. */
export async function idleMemory(gateway: RunningGateway): Promise<Figure[]> {
  const telegram = await FakeTelegram.start();
  const discord = await FakeDiscord.open();
  const idle = await gateway.restart(variablesOf({ telegram, discord }));
  await whenAllUp(idle.url);
  await pause(SETTLE_MS);
  const own = idle.rss();
  const all = familyMb(idle.pid);
  await idle.stop();
  await telegram.close();
  await discord.close();
  await gateway.restart();
  const figure = {
    row: 7,
    on: gateway.on,
    unit: 'MB',
    note: `${SETTLE_MS / 1_000} s after Telegram, Discord and HTTP were up`,
  };
  return [
    { ...figure, what: 'idle memory of the gateway', value: own, bar: { atMost: IDLE_MB.gateway } },
    ...(all === undefined
      ? []
      : [{ ...figure, what: 'idle memory of all processes', value: all, bar: { atMost: IDLE_MB.all } }]),
  ];
}

async function whenAllUp(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const report: { channels: Record<string, { state: string }> } = await (
      await fetch(`${url}/readyz`)
    ).json();
    if (Object.values(report.channels).every(({ state }) => state === 'up' || state === 'off')) return;
    await pause(100);
  }
  throw new Error(`the channels did not come up within 30 s: ${await (await fetch(`${url}/readyz`)).text()}`);
}
