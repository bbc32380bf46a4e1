/** A chat with thousands of turns: everything stays in the document, and only what is near the view is laid out. */
import { expect, it, vi } from 'vitest';
import { addressOf } from '../../../../../src/protocol/message.ts';
import { GROUP_TURNS } from '../../../../../channels/http/page/chat/groups.ts';
import { launch, openPage, signIn, WAIT, write } from '../browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from '../browser/describe-page.ts';
import { chromiumPath } from '../../../../runs/needs.ts';

/** Turns in the long chat; all of them are loaded by scrolling. */
const TURNS = 300;
/** The most groups that are laid out: those in view, and about as many around them. */
const MAX_DRAWN_GROUPS = 3;

describePageOnFakeGateway('a chat of many turns', (tab, fixture) => {
  const open = async (turns: number): Promise<void> => {
    for (let nth = 1; nth <= turns; nth += 1) {
      const answer = `Answer **${nth}**.\n\n${'- a point of the answer\n'.repeat(1 + (nth % 9))}`;
      fixture.api.gateway.commit('http:long', `t${nth}`, 'user', `question ${nth}`, false);
      fixture.api.gateway.commit('http:long', `t${nth}`, 'assistant', answer, false);
    }
    await tab.open(`${fixture.api.url}/#http:long`, { token: TOKEN });
    await tab.page.getByText(`question ${turns}`, { exact: true }).waitFor();
  };
  const loadAll = (page = tab.page): Promise<void> =>
    page.evaluate<void>(`(async () => {
      const scroller = document.getElementById('scroller');
      while (!document.querySelector('.earlier').hidden) {
        scroller.scrollTop = 0;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    })()`);
  /** Groups that are laid out, out of all. */
  const groups = (): Promise<[drawn: number, all: number]> =>
    tab.page.evaluate<[number, number]>(`(() => {
      const groups = [...document.querySelectorAll('.turns')];
      const isDrawn = (group) => group.firstElementChild.checkVisibility({ contentVisibilityAuto: true });
      return [groups.filter(isDrawn).length, groups.length];
    })()`);
  const fromEnd = (): Promise<number> =>
    tab.page
      .locator('#scroller')
      .evaluate((box) => Math.round(box.scrollHeight - box.clientHeight - box.scrollTop));

  it('lays out only the groups of turns near the view, in order', async () => {
    await open(TURNS);
    await loadAll();
    expect(await tab.page.locator('.turn').count()).toBe(TURNS);
    const sizes = await tab.page
      .locator('.turns')
      .evaluateAll((all) => all.map((group) => group.childElementCount));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(GROUP_TURNS);
    const questions = await tab.page.locator('.message-text').allTextContents();
    expect(questions).toEqual(Array.from({ length: TURNS }, (_, index) => `question ${index + 1}`));
    await vi.waitFor(async () => expect((await groups())[0]).toBeLessThanOrEqual(MAX_DRAWN_GROUPS), WAIT);
    expect((await groups())[1]).toBeGreaterThanOrEqual(TURNS / GROUP_TURNS);
    await tab.page.getByRole('button', { name: 'Go to the newest message' }).click();
    await tab.page.getByText(`question ${TURNS}`, { exact: true }).waitFor();
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    await vi.waitFor(async () => expect((await groups())[0]).toBeLessThanOrEqual(MAX_DRAWN_GROUPS), WAIT);
  });

  it('reads nothing in the older turns to show a token', async () => {
    await open(TURNS);
    await loadAll();
    const turn = await fixture.ask('one more');
    turn.say('first ');
    await tab.page.locator('.md', { hasText: 'first' }).waitFor();
    await tab.page.evaluate(`{
      window.touched = 0;
      const older = document.querySelector('.turns');
      new MutationObserver((list) => (window.touched += list.length))
        .observe(older, { subtree: true, childList: true, attributes: true, characterData: true });
      const classes = Object.getOwnPropertyDescriptor(Element.prototype, 'classList').get;
      Object.defineProperty(Element.prototype, 'classList', { get() {
        if (older.contains(this)) window.touched += 1;
        return classes.call(this);
      } });
      const content = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
      Object.defineProperty(Node.prototype, 'textContent', { ...content, get() {
        if (older.contains(this)) window.touched += 1;
        return content.get.call(this);
      } });
    }`);
    turn.say(...Array.from({ length: 50 }, (_, index) => `word${index} `));
    await tab.page.locator('.md', { hasText: 'word49' }).waitFor();
    expect(await tab.page.evaluate('window.touched')).toBe(0);
    turn.end();
    await tab.page.locator('.turn').last().locator('.turn-foot time').waitFor();
    // What is read again at the end changes nothing in them.
    expect(
      await tab.page.evaluate(
        `new Promise((resolve) => requestAnimationFrame(() => resolve(window.touched)))`,
      ),
    ).toBe(0);
  });

  it('does not move what the user is reading while older turns come in above', async () => {
    await open(200);
    const place = tab.page.getByText('question 177', { exact: true });
    const top = (): Promise<number> => place.evaluate((element) => element.getBoundingClientRect().top);
    await tab.page.locator('#scroller').evaluate((box) => (box.scrollTop = 60));
    await tab.page.getByText('question 176', { exact: true }).waitFor({ state: 'attached' });
    await place.scrollIntoViewIfNeeded();
    const before = await top();
    await tab.page.locator('.earlier').evaluate((button: HTMLElement) => button.click());
    await tab.page.getByText('question 151', { exact: true }).waitFor({ state: 'attached' });
    await expect.poll(async () => Math.abs((await top()) - before), WAIT).toBeLessThanOrEqual(2);
  });

  it('follows an answer that grows by more than the view before the page is notified of its own scrolling', async () => {
    await open(20);
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    const offered = await tab.page.evaluate<boolean>(`(() => {
      const tall = document.createElement('div');
      tall.style.height = '900px';
      document.getElementById('transcript').append(tall);
      document.getElementById('scroller').dispatchEvent(new Event('scroll'));
      return !document.getElementById('to-bottom').hidden;
    })()`);
    expect(offered).toBe(false);
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    await tab.page.locator('#scroller').evaluate((box) => (box.scrollTop -= 500));
    await tab.page.getByRole('button', { name: 'Go to the newest message' }).waitFor();
    expect(await fromEnd()).toBeGreaterThan(400);
  });

  it('finds, selects and scrolls to what is not laid out', async () => {
    await open(TURNS);
    await loadAll();
    await tab.page.getByRole('button', { name: 'Go to the newest message' }).click();
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    const selected = await tab.page.evaluate<string>(`(() => {
      getSelection().selectAllChildren(document.getElementById('transcript'));
      return getSelection().toString();
    })()`);
    expect(selected).toContain('question 3\n');
    // Browsers scroll to the matches of their own search; a script has to do it itself.
    await tab.page.evaluate(`{
      getSelection().removeAllRanges();
      window.found = window.find('question 3') && getSelection().anchorNode.parentElement;
      window.found.scrollIntoView();
    }`);
    expect(await tab.page.evaluate('window.found.textContent')).toBe('question 3');
    const middle = (): Promise<string> =>
      tab.page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const { left, top } = window.found.getBoundingClientRect();
        resolve(document.elementFromPoint(left + 5, top + 5)?.textContent ?? '');
      })))`);
    await expect.poll(middle, WAIT).toBe('question 3');
    expect(await middle()).toBe('question 3');
  });

  it('also shows screen readers what is not laid out', async () => {
    await open(TURNS);
    // Browsers build the tree for screen readers only when one asks for it.
    const browser = await launch(chromiumPath() ?? '', ['--force-renderer-accessibility']);
    try {
      const { page } = await openPage(browser, `${fixture.api.url}/#http:long`);
      await signIn(page, TOKEN);
      await page.getByText(`question ${TURNS}`, { exact: true }).waitFor();
      await loadAll(page);
      await page.getByRole('button', { name: 'Go to the newest message' }).click();
      const session = await page.context().newCDPSession(page);
      await session.send('Accessibility.enable');
      const names = async (): Promise<unknown[]> => {
        const { nodes } = await session.send('Accessibility.getFullAXTree');
        return nodes.filter(({ ignored }) => !ignored).map(({ name }) => name?.value);
      };
      await expect.poll(names, WAIT).toContain('question 3');
    } finally {
      await browser.close();
    }
  });

  it('keeps following the end while the answer, the cards and the window change', async () => {
    await open(60);
    const turn = await fixture.ask('grow');
    for (let nth = 0; nth < 20; nth += 1) turn.say(`paragraph ${nth}\n\n`);
    await tab.page.locator('.md', { hasText: 'paragraph 19' }).waitFor();
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    await tab.page.setViewportSize({ width: 700, height: 400 });
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    await tab.page.locator('#scroller').evaluate((box) => (box.scrollTop -= 600));
    await tab.page.getByRole('button', { name: 'Go to the newest message' }).waitFor();
    turn.say('the last one');
    await tab.page.locator('.md', { hasText: 'the last one' }).waitFor({ state: 'attached' });
    expect(await fromEnd()).toBeGreaterThan(500);
    turn.end();
  });

  it('keeps a command where it was given, in Markdown, across a reload and in another tab', async () => {
    await open(3);
    const other = await tab.page.context().newPage();
    await other.goto(`${fixture.api.url}/#http:long`);
    await signIn(other, TOKEN);
    await other.getByText('question 3', { exact: true }).waitFor();
    await write(tab.page, '/status');
    await tab.page.locator('.turn-note strong', { hasText: 'All' }).waitFor();
    await other.locator('.turn-note li code', { hasText: 'idle' }).waitFor();
    await fixture.ask('and now?');
    await tab.page.reload();
    const shown = () => tab.page.locator('.message-text').allTextContents();
    await expect.poll(shown, WAIT).toEqual(['question 1', 'question 2', 'question 3', '/status', 'and now?']);
    await expect.poll(fromEnd, WAIT).toBeLessThanOrEqual(1);
    await tab.screenshot('command-answer');
  });

  it('answers a command in a new chat, without asking for a session that does not exist, and keeps it across a reload', async () => {
    await fixture.open();
    const asked: string[] = [];
    tab.page.on('response', (answer) => answer.status() === 404 && asked.push(answer.url()));
    await write(tab.page, '/status');
    await tab.page.locator('.turn-note strong', { hasText: 'All' }).waitFor();
    expect(await tab.page.locator('#greeting').count()).toBe(0);
    await write(tab.page, '/status');
    await expect.poll(() => tab.page.locator('.turn-note.md').count(), WAIT).toBe(2);
    expect(asked).toEqual([]);
    await tab.page.reload();
    await expect.poll(() => tab.page.locator('.turn-note.md').count(), WAIT).toBe(2);
    expect(await tab.page.locator('#greeting').count()).toBe(0);
  });

  it('shows and reads aloud an answer once whose stored text is known before its events', async () => {
    await fixture.open();
    const turn = await fixture.ask('which one?');
    fixture.api.gateway.commit(addressOf(turn.message), turn.id, 'assistant', 'Two words.', false);
    turn.emit({ type: 'queue_changed' });
    const shown = tab.page.locator('.answer');
    await expect.poll(() => shown.last().innerText(), WAIT).toBe('Two words.');
    const announcer = tab.page.locator('#announcer');
    const comeLate = async (): Promise<void> => {
      await announcer.evaluate((one) => one.replaceChildren());
      turn.emit({ type: 'stream_start', msgId: 'late' });
      for (const delta of ['Two ', 'words.']) turn.emit({ type: 'stream_chunk', msgId: 'late', delta });
      turn.emit({ type: 'turn_ended', reason: 'completed' });
      await expect.poll(() => announcer.textContent(), WAIT).toBe('Two words.');
      await expect.poll(() => shown.last().innerText(), WAIT).toBe('Two words.');
    };
    // First after the text alone, then after the steps as well, which are loaded then.
    await comeLate();
    await comeLate();
  });

  it('reads an answer aloud as words', async () => {
    await fixture.open();
    const turn = await fixture.ask('list?');
    turn.say('# Two\n\n- **one** [link](https://example.org)\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |');
    turn.end();
    await expect
      .poll(() => tab.page.locator('#announcer').textContent(), WAIT)
      .toBe('Two\none link\ntwo\na, b\n1, 2');
    await write(tab.page, 'bye');
  });
});
