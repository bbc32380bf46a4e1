/** A real Chromium for the page's tests, and the people who use it. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** What a test waits with for what the browser does. */
export const WAIT = { timeout: 20_000, interval: 20 };

/** The browser's program: `CHROMIUM`, else where Debian puts it. Undefined when there is none. */
export function findChromium(): string | undefined {
  const path = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
  if (existsSync(path)) return path;
  if (process.env['PARLEY_REQUIRE_BROWSER'] === '1') {
    throw new Error(
      `PARLEY_REQUIRE_BROWSER=1, but there is no Chromium at ${path}; set CHROMIUM or install it.`,
    );
  }
  return undefined;
}

/** Says once and loudly that the page was not tested. */
export function announceSkip(): void {
  process.stderr.write(
    '\n*** THE PAGE IS NOT TESTED: no Chromium here. Install one or set CHROMIUM to its path. ***\n\n',
  );
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A page and everything about it that must stay empty. */
export interface Visit {
  page: Page;
  /** Errors of scripts and of the content security policy, dialogs, and requests to anywhere else. */
  complaints: string[];
}

/** Opens the page as somebody who was never there. */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch((error: unknown) => complaints.push(String(error)));
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Uncaught/.test(message.text())) complaints.push(message.text());
  });
  const home = `${new URL(url).origin}/`;
  page.on('request', (request) => {
    if (!request.url().startsWith(home) && !request.url().startsWith('data:'))
      complaints.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints };
}

/** Signs in with a token and waits for the chats. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#app').waitFor({ state: 'visible' });
}

/** Writes a message and sends it with Enter. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}
