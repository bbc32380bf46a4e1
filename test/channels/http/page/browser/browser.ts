/** A real Chromium for the page's tests, and what its users do: open the page, sign in, write. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Timing of `vi.waitFor` where a test waits for the browser. */
export const WAIT = { timeout: 20_000, interval: 20 };

/** Starts a browser with the given extra arguments; the caller closes it. */
export function launch(executablePath: string, more: readonly string[] = []): Promise<Browser> {
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
      ...more,
    ],
  });
}

let shared: Promise<Browser> | undefined;

/**
 * The browser of this test worker, started on first use: starting one for each file takes 1 to 2 s per file. It ends
 * with the worker's process.
 */
export function sharedBrowser(executablePath: string): Promise<Browser> {
  return (shared ??= launch(executablePath));
}

/** An open page, and everything it did that it must never do. */
export interface OpenedPage {
  page: Page;
  /** Script errors, violations of the content security policy, dialogs, and requests to other servers. */
  violations: string[];
}

/** Opens the page in a fresh browser profile. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const violations: string[] = [];
  page.on('pageerror', (error) => violations.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    violations.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch((error: unknown) => violations.push(String(error)));
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Uncaught/.test(message.text())) violations.push(message.text());
  });
  const home = `${new URL(url).origin}/`;
  page.on('request', (request) => {
    // Images that the page has fetched or been given.
    const isOwn = [home, 'data:', `blob:${home}`].some((start) => request.url().startsWith(start));
    if (!isOwn) violations.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, violations };
}

/** Signs in with a token and waits for the list of chats. */
export async function signIn(page: Page, token: string): Promise<void> {
  // In every language.
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Token').press('Enter');
  await page.locator('#app').waitFor({ state: 'visible' });
}

/** Chooses from the account menu, by the id of the item: `sign-out`. */
export async function chooseFromAccount(page: Page, item: string): Promise<void> {
  await page.locator('#sidebar-foot .menu-opener').click();
  await page.locator(`#${item}`).click();
}

/** Chooses from the menu of the open chat, by the name of the item. */
export async function chooseFromChat(page: Page, item: string): Promise<void> {
  await page.locator('.chat-head [popovertarget=chat-menu]').click();
  await page.locator('#chat-menu').getByRole('button', { name: item, exact: true }).click();
}

/** Chooses the `model`, `profile` or `mode` of the open chat. */
export async function chooseInChat(
  page: Page,
  choice: 'model' | 'profile' | 'mode',
  option: string | { label: string },
): Promise<void> {
  await page.locator('.chat-head [popovertarget=choices]').click();
  await page.locator(`#${choice}`).selectOption(option);
  await page.keyboard.press('Escape');
}

/** Writes a message and sends it with Enter. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}
