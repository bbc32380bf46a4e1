/** The page in a real browser before the whole house: live tokens, thinking, tools, stop, reload, and a restart of the gateway. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { announceSkip, findChromium, launch, signIn, visit, write } from '../browser/browser.ts';
import { openHouse, OWNER, WAIT } from './house.ts';
import type { House } from './house.ts';

const chromiumPath = findChromium();
if (chromiumPath === undefined) announceSkip();
/** A folder for pictures of what was seen; unset = none are taken. */
const pictures = process.env['PARLEY_SCREENSHOTS'];

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describe.skipIf(chromiumPath === undefined)('the page before the house', () => {
  let house: House;
  let browser: Browser;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    house = await openHouse('embedded');
    browser = await launch(chromiumPath ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await house.close();
  });
  beforeEach(async () => {
    ({ page, complaints } = await visit(browser, house.gateway.url));
    await signIn(page, OWNER);
  });
  afterEach(async () => {
    await page.context().close();
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  });

  const look = async (name: string): Promise<void> => {
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
  };
  const shown = (): Promise<string[]> => page.locator('.bubble, .md').allInnerTexts();
  const ended = (turns = 1): Promise<void> =>
    vi.waitFor(async () => expect(await page.locator('.turn-foot time').count()).toBe(turns), WAIT);

  it('grows token by token, thinking folded and tools as cards, and is the same after a reload', async () => {
    const look1 = {
      thinking: 'I should look first.',
      text: 'Let me look.',
      toolCalls: [{ name: 'list_dir', args: { path: '.' } }],
    };
    house.ollama.answer(look1, { when: 'what files' });
    house.ollama.answer({ text: `There are **none**. ${words(30)}`, perSecond: 25 }, { when: 'what files' });
    await write(page, 'what files are here?');
    await page.locator('.tool').getByText('list_dir').waitFor();
    await page.locator('.md', { hasText: 'word5' }).waitFor();
    await look('growing');
    expect((await shown()).join(' ')).not.toContain('word29');
    await ended();
    const thinking = page.locator('details.thinking').first();
    expect(await thinking.getByText('I should look first.').isVisible()).toBe(false);
    await page.locator('.tool').getByText('done', { exact: true }).waitFor();
    await look('done');
    const before = await shown();
    const [session] = (await (await house.call('/v1/sessions')).json()).sessions;
    const stored = (await house.messages(session.key)).at(-1)?.content ?? '';
    expect(oneLine(before.slice(1).join(' '))).toBe(oneLine(stored.replaceAll('*', '')));
    await page.reload();
    await page.locator('.md', { hasText: 'word29' }).waitFor();
    expect(oneLine((await shown()).join(' '))).toBe(oneLine(before.join(' ')));
  });

  it('stops an answer, and says so (N-58)', async () => {
    house.ollama.answer({ text: words(2_000), perSecond: 25 }, { when: 'a long story' });
    await page.getByRole('button', { name: 'New chat' }).click();
    await write(page, 'a long story');
    await page.locator('.md', { hasText: 'word3' }).waitFor();
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await page.locator('.md em', { hasText: '(stopped)' }).waitFor();
    await look('stopped');
    const { by } = await (await house.modelCall('a long story')).closed;
    expect(by).toBe('client');
  });

  it('loses nothing when the gateway is restarted in the middle of an answer', async () => {
    const answer = { text: words(60), perSecond: 20 };
    house.ollama.answer(answer, { when: 'survive', times: 2 });
    await page.getByRole('button', { name: 'New chat' }).click();
    await write(page, 'survive this');
    await page.locator('.md', { hasText: 'word5' }).waitFor();
    await house.restart();
    await page.locator('.md', { hasText: 'word59' }).waitFor({ timeout: 20_000 });
    await ended();
    await look('restarted');
    expect(await shown()).toEqual(['survive this', words(60)]);
  });

  it('is usable on a phone, in the dark', async () => {
    await page.context().close();
    const phone = { viewport: { width: 390, height: 780 }, colorScheme: 'dark' as const };
    ({ page, complaints } = await visit(browser, house.gateway.url, phone));
    await signIn(page, OWNER);
    house.ollama.answer(
      '# Hello\n\nA `phone` with **bold** words and\n\n```js\nconst long = "a line of code that is longer than the screen is wide";\n```',
      { when: 'phone' },
    );
    await page.getByRole('button', { name: 'Show the list of chats' }).click();
    await page.getByRole('button', { name: 'New chat' }).click();
    await write(page, 'hello phone');
    await ended();
    await look('phone');
    const wider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wider).toBe(false);
  });
});

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
