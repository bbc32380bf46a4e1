/**
 * `npm run docs:pictures`: takes the pictures of the README from a running gateway: the page in Chromium, and a Telegram
 * chat as the platform's fake shows it while an answer grows. The model is the demo's script. Needs Chromium.
 */
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import type { Gateway } from '../../src/lifecycle.ts';
import { openPage, signIn, write } from '../channels/http/page/browser/browser.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import { openDrawnGateway } from './drawn-gateway.ts';
import { ROOT } from './pages.ts';

const IMAGES = path.join(ROOT, 'docs/images');
const TOKEN = 'a-token-for-the-pictures-0123456789';
const PERSON = '1001';
const QUESTION = 'Hello! What can you do?';
const GOAL = 'plan a picnic';
const PHONES = `
  body { display: flex; gap: 14px; margin: 14px; background: #fff; font: 13px/1.45 'Liberation Sans', sans-serif }
  section { flex: 1; height: 560px; padding: 14px; overflow: hidden; border-radius: 18px; background: #dfe8d8 }
  p { margin: 0 0 10px; padding: 8px 11px; border-radius: 12px; background: #fff; white-space: pre-wrap; width: fit-content }
  .mine { margin-left: auto; background: #effdde }`;

const telegram = await FakeTelegram.start();
const drawn = await openDrawnGateway({
  settings: {
    access: { telegram: { dm: 'open' } },
    tools: { enabled: ['list_dir', 'read_file', 'write_file', 'todo'] },
    turns: { mode: 'agentic' },
  },
  env: {
    GATEWAY_TOKEN: TOKEN,
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
  },
  platforms: [telegram],
});
const { gateway, browser } = drawn;
try {
  await takePage(browser, gateway);
  await takeTelegram(browser);
} finally {
  await drawn.close();
}

/** The page: a half-written answer, and a plan at its end. */
async function takePage(browser: Browser, { url }: Gateway): Promise<void> {
  const { page } = await openPage(browser, url, { viewport: { width: 1_000, height: 640 } });
  await signIn(page, TOKEN);
  await write(page, QUESTION);
  await page.getByText('A few things to try').waitFor();
  await save(page, 'growing');
  await page.locator('.turn-foot time').waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.setViewportSize({ width: 1_000, height: 900 });
  await write(page, GOAL);
  await page.locator('.turn-foot time').waitFor({ timeout: 60_000 });
  await page.getByRole('group', { name: /^Plan/ }).scrollIntoViewIfNeeded();
  await save(page, 'plan');
}

async function save(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(IMAGES, `${name}.png`) });
}

/** Three moments of a Telegram chat, drawn side by side from what its screen showed. */
async function takeTelegram(browser: Browser): Promise<void> {
  const screens = await watchTelegram(GOAL, 'for real answers.');
  const repaired = screens.find((texts) => texts.join(' ').includes('attempt 2')) ?? [];
  const moments = [screens[0] ?? [], repaired, screens.at(-1) ?? []];
  const phones = moments.map((texts) => {
    const messages = texts.map((text) => `<p>${escape(text)}</p>`);
    return `<section><p class="mine">${escape(GOAL)}</p>${messages.join('')}</section>`;
  });
  const page = await browser.newPage({ viewport: { width: 1_080, height: 616 } });
  await page.setContent(`<style>${PHONES}</style>${phones.join('')}`);
  await save(page, 'telegram');
}

/** Every different screen of the chat, oldest first, until it shows `last`. Throws after a minute without it. */
async function watchTelegram(question: string, last: string): Promise<string[][]> {
  const screens: string[][] = [];
  telegram.says(PERSON, question, PERSON);
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await setTimeout(50)) {
    const now = [...telegram.screen(PERSON)];
    if (now.length > 0 && now.join('|') !== screens.at(-1)?.join('|')) screens.push(now);
    if (now.some((text) => text.includes(last))) return screens;
  }
  throw new Error(`Telegram does not show "${last}": ${JSON.stringify(screens.at(-1))}`);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
