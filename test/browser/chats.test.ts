/** The page over time: many chats, old pages, broken connections, small screens. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDoor } from '../channels/http-client.ts';
import type { OpenDoor } from '../channels/http-client.ts';
import type { FakeTurn } from '../fakes/fake-turn.ts';
import { findChromium, launch, signIn, visit, WAIT, write } from './browser.ts';

const TOKEN = 'admin-token-of-the-owner';
const chromiumPath = findChromium();

/** A port nobody listens on now: the door must come back at the same address. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe.skipIf(chromiumPath === undefined)('the page, over time', () => {
  let browser: Browser;
  let door: OpenDoor;
  let page: Page;
  let turns: FakeTurn[];

  beforeAll(async () => {
    browser = await launch(chromiumPath ?? '');
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    door = await openDoor({ port: await freePort() });
    turns = [];
    door.house.script = (turn) => void turns.push(turn);
  });
  afterEach(async () => {
    await page.context().close();
    await door.close();
  });

  async function enter(options = {}): Promise<void> {
    ({ page } = await visit(browser, door.url, options));
    await signIn(page, TOKEN);
  }

  async function ask(text: string): Promise<FakeTurn> {
    const before = turns.length;
    await write(page, text);
    await vi.waitFor(() => expect(turns.length).toBe(before + 1), WAIT);
    await vi.waitFor(() => expect(door.house.events.listeners.size).toBe(1), WAIT);
    return turns[before]!;
  }

  it('reconnects by itself and shows exactly what was said meanwhile', async () => {
    await enter();
    const turn = await ask('count');
    turn.say('one ', 'two ');
    await page.locator('.md', { hasText: 'one two' }).waitFor();
    await door.channel.stop();
    await page.getByText('Connection lost. Reconnecting…').waitFor();
    turn.say('three ', 'four ');
    await door.channel.start(door.house.receive);
    await page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'hidden' });
    turn.say('five');
    turn.end();
    await page.locator('.turn-foot time').waitFor();
    expect(await page.locator('.md').innerText()).toBe('one two three four five');
    expect(await page.locator('.bubble').allInnerTexts()).toEqual(['count']);
  });

  it('shows a whole answer that ended while nobody was connected', async () => {
    await enter();
    const turn = await ask('count');
    turn.say('one ');
    await page.locator('.md', { hasText: 'one' }).waitFor();
    await door.channel.stop();
    turn.say('two');
    turn.end();
    await door.channel.start(door.house.receive);
    await page.locator('.turn-foot time').waitFor();
    expect(await page.locator('.md').innerText()).toBe('one two');
  });

  it('keeps a running answer when it is reloaded in the middle', async () => {
    await enter();
    const turn = await ask('count');
    turn.say('one ');
    await page.locator('.md', { hasText: 'one' }).waitFor();
    await page.reload();
    await page.locator('.md', { hasText: 'one' }).waitFor();
    turn.say('two');
    turn.end();
    await page.locator('.turn-foot time').waitFor();
    expect(await page.locator('.md').innerText()).toBe('one two');
  });

  it('sends once, however often a failed message is tried again', async () => {
    await enter();
    door.house.storeDown = true;
    await write(page, 'important');
    await page.getByText('Not sent: The database cannot be reached.').waitFor();
    door.house.storeDown = false;
    await page.getByRole('button', { name: 'Try again' }).click();
    await vi.waitFor(() => expect(turns).toHaveLength(1), WAIT);
    await page.getByText('Not sent').waitFor({ state: 'hidden' });
    expect(await page.locator('.bubble').allInnerTexts()).toEqual(['important']);
  });

  it('lists chats by their first words, switches, and forgets one only when that is meant', async () => {
    await enter();
    (await ask('about cats')).end();
    await page.getByRole('button', { name: 'New chat' }).click();
    (await ask('about dogs')).end();
    const list = page.getByRole('navigation', { name: 'Your chats' });
    await list.getByText('about dogs').waitFor();
    await list.getByText('about cats').click();
    await page.locator('.bubble', { hasText: 'about cats' }).waitFor();
    expect(await page.locator('.bubble').count()).toBe(1);
    for (const answer of ['Keep it', 'Forget it']) {
      await list.getByRole('button', { name: 'Forget “about dogs”' }).click();
      await page.getByRole('button', { name: answer }).click();
    }
    await list.getByText('about dogs').waitFor({ state: 'detached' });
    expect(await list.getByText('about cats').count()).toBe(1);
  });

  it('shows chats of other channels to the owner, to watch and not to write', async () => {
    door.house.commit('telegram:42', 't1', 'user', 'from my phone', false);
    await enter();
    await page.getByText('from my phone').click();
    await page.getByText('This chat lives on Telegram.').waitFor();
    expect(await page.getByLabel('Message', { exact: true }).isVisible()).toBe(false);
    const receipt = await door.house.receive({
      id: 'u1',
      channel: 'telegram',
      chatId: '42',
      senderId: '42',
      content: 'live from the phone',
      timestamp: Date.now(),
      media: [],
      place: 'private',
      mentioned: true,
    });
    expect(receipt.kind).toBe('accepted');
    await page.locator('.bubble', { hasText: 'live from the phone' }).waitFor();
    turns[0]?.say('seen at once');
    await page.locator('.md', { hasText: 'seen at once' }).waitFor();
  });

  it('reads old pages upwards without losing the place', async () => {
    for (let i = 1; i <= 130; i += 1) door.house.commit('http:long', `t${i}`, 'user', `line ${i}`, false);
    await enter();
    await page.getByRole('navigation').getByText('line 1', { exact: true }).click();
    await page.locator('.bubble', { hasText: 'line 130' }).waitFor();
    expect(await page.locator('.bubble').count()).toBe(50);
    await page.locator('#scroller').evaluate((scroller) => (scroller.scrollTop = 0));
    await vi.waitFor(
      async () => expect(await page.locator('.bubble').count()).toBeGreaterThanOrEqual(100),
      WAIT,
    );
    await page.getByText('line 81', { exact: true }).waitFor();
    const shown = await page.locator('.bubble').allInnerTexts();
    expect(shown).toEqual(shown.map((_, index) => `line ${131 - shown.length + index}`));
    expect(await page.locator('#scroller').evaluate((scroller) => scroller.scrollTop)).toBeGreaterThan(500);
  });

  it('shows a stored plan as a card of its own, beside the answer (N-26)', async () => {
    door.house.commit('http:trip', 't1', 'user', 'plan my trip', false);
    door.house.commit('http:trip', 't1', 'assistant', '1. Pack\n2. Go', false).isPlan = true;
    door.house.commit('http:trip', 't1', 'assistant', 'All done.', false);
    await enter();
    await page.getByRole('navigation').getByText('plan my trip').click();
    const plan = page.getByRole('region', { name: 'Plan' });
    await plan.getByText('Pack').waitFor();
    expect(await page.locator('.answer').innerText()).toBe('All done.');
  });

  it('says when it is a demo, and when the model server is away', async () => {
    door.house.report.demo = true;
    door.house.report.model = { state: 'down', detail: 'No model server at OLLAMA_HOST.' };
    await enter();
    await page.getByText('No model server at OLLAMA_HOST.').waitFor();
    expect(await page.getByText('Demo: answers come from a script').isVisible()).toBe(true);
  });

  it('asks with the chosen model', async () => {
    await enter();
    await page.getByLabel('Model for the next messages').selectOption('tiny:1b');
    expect((await ask('hello')).options.model).toBe('tiny:1b');
  });

  it('is usable on a phone of 360 pixels: nothing sticks out, the list slides in', async () => {
    await enter({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    await page.getByLabel('Message', { exact: true }).fill('hi');
    await page.getByRole('button', { name: 'Send' }).tap();
    await vi.waitFor(() => expect(turns).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(door.house.events.listeners.size).toBe(1), WAIT);
    turns[0]?.say(
      '```\n',
      'x'.repeat(300),
      '\n```\n\n| ',
      'wide | '.repeat(20),
      '\n|',
      '---|'.repeat(20),
      '\n',
    );
    turns[0]?.end();
    await page.locator('.turn-foot time').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await page.locator('#scroller').evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    await page.getByRole('button', { name: 'Show the list of chats' }).tap();
    await page.getByRole('navigation').getByText('hi', { exact: true }).tap();
    await page.getByRole('button', { name: 'New chat' }).waitFor({ state: 'hidden' });
  });

  it('is led by the keyboard: Enter sends, Shift+Enter makes a line', async () => {
    await enter();
    await page.getByText('What shall we talk about?').waitFor();
    await page.keyboard.type('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    await vi.waitFor(() => expect(turns[0]?.message.content).toBe('one\ntwo'), WAIT);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('draft');
  });
});
