/** A gateway with content on every screen of its settings, and how a test gets to a screen. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { type FixtureOptions, type GatewayFixture, openGatewayFixture } from '../../setup.ts';

/** All screens, by their addresses; those of single channels and profiles are below theirs. */
export const SCREENS = [
  'overview',
  'general',
  'models',
  'profiles',
  'usage',
  'channels',
  'access',
  'tokens',
  'sign-ins',
  'tools',
  'rules',
  'schedules',
  'webhooks',
  'memory',
  'storage',
  'log',
  'dead-letters',
  'environment',
];

/** Opens it on the embedded database, with further tools where a test needs them; the caller closes it. */
export async function openFurnishedGateway(
  more: Pick<FixtureOptions, 'tools'> = {},
): Promise<GatewayFixture> {
  const file = { limits: { messagesPerMinute: 30 }, access: { telegram: { allow: ['7001'] } } };
  const fixture = await openGatewayFixture({ telegram: true, file, ...more });
  await fixture.post('plans', 'what is the weather?');
  await fixture.idle('http:plans');
  const json = { session: 'http:plans', task: 'Tell me the tides', everyMinutes: 60 };
  await fixture.call('/v1/schedules', { json });
  const fact = { session: 'http:plans', untrusted: false, key: 'k' } as const;
  await fixture.store.memories.remember('telegram:7001', { ...fact, text: 'Likes the sea.' });
  await mkdir(path.join(fixture.home, 'logs'), { recursive: true });
  const line = { level: 40, time: 1_790_000_000_000, code: 7, msg: 'channel_unreachable' };
  await writeFile(path.join(fixture.home, 'logs', 'parley.log'), `${JSON.stringify(line)}\n`);
  return fixture;
}

/** Goes to a screen by its address, and waits until it is drawn. */
export async function goToScreen(page: Page, screen: string): Promise<Page> {
  await page.evaluate((name) => void (location.hash = `#settings/${name}`), screen);
  const [name] = screen.split('/');
  await page.locator(`.settings-body[data-screen="${name}"]:not(:has(.settings-loading))`).waitFor();
  return page;
}
