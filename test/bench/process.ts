/** Rows 6 and 7: how soon the gateway is ready, and how much memory it uses when idle. */
import { setTimeout as pause } from 'node:timers/promises';
import { FakeDiscord } from '../fakes/discord/discord.ts';
import { FakeHomeserver } from '../fakes/matrix/homeserver.ts';
import { variablesOf } from '../fakes/networks.ts';
import { FakeSlack } from '../fakes/slack/slack.ts';
import { FakeTelegram } from '../fakes/telegram/telegram.ts';
import { median } from './figures.ts';
import type { Figure } from './figures.ts';
import type { RunningGateway } from './gateway-setup.ts';

const STARTS = 5;
/** V8 returns startup memory some ten seconds after it was collected. */
const SETTLE_MS = 30_000;
const READY_MS = { postgres: 1_000, embedded: 2_000 };
const IDLE_MB = { postgres: 160, embedded: 500 };

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

/** Row 7: resident memory with all channels on, some seconds after they are up. */
export async function idleMemory(gateway: RunningGateway): Promise<Figure> {
  const telegram = await FakeTelegram.start();
  const discord = await FakeDiscord.open();
  const slack = await FakeSlack.open();
  const matrix = await FakeHomeserver.open();
  const idle = await gateway.restart(variablesOf({ telegram, discord, slack, matrix }));
  await whenAllUp(idle.url);
  await pause(SETTLE_MS);
  const value = idle.rss();
  await idle.stop();
  await telegram.close();
  await discord.close();
  await slack.close();
  await matrix.close();
  await gateway.restart();
  return {
    row: 7,
    what: 'idle memory, all channels on',
    on: gateway.on,
    value,
    unit: 'MB',
    bar: { atMost: gateway.on === 'postgres' ? IDLE_MB.postgres : IDLE_MB.embedded },
    note: `resident, ${SETTLE_MS / 1_000} s after the channels were up`,
  };
}

async function whenAllUp(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const report: { channels: Record<string, { state: string }> } = await (
      await fetch(`${url}/readyz`)
    ).json();
    if (Object.values(report.channels).every(({ state }) => state === 'up')) return;
    await pause(100);
  }
  throw new Error(`the channels did not come up within 30 s: ${await (await fetch(`${url}/readyz`)).text()}`);
}
