/**
 * Formulas, footnotes, callouts and pictures on the page, as a browser shows them. Whatever the page's policy refuses fails
 * the test, too.
 */
import { expect, it, vi } from 'vitest';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

/** The five ways in which models write formulas. */
const FORMULAS = [
  'so $e^{i\\pi}+1=0$ and \\(a^2\\), for $5 to $10',
  '$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$',
  '\\[\\sum_{k=1}^n k = \\frac{n(n+1)}{2}\\]',
  '```math\n\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\n```',
].join('\n\n');

describePageOnFakeGateway('an answer', (tab, fixture) => {
  const answer = async (text: string): Promise<void> => {
    const turn = await fixture.ask('well?');
    turn.say(text);
    turn.end();
    await tab.page.locator('.turn-foot time').last().waitFor();
  };

  it('typesets each kind of formula, and leaves prices as they are', async () => {
    await fixture.open();
    const asked: string[] = [];
    tab.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await answer(FORMULAS);
    const math = tab.page.locator('.md .formula math');
    await expect.poll(() => math.count(), WAIT).toBe(5);
    expect(await tab.page.locator('.md .formula.displayed').count()).toBe(3);
    expect(await tab.page.locator('.md p').first().innerText()).toContain('for $5 to $10');
    expect(asked.filter((path) => path.includes('typeset'))).toHaveLength(1);
    // The cells of the matrix are laid out: a second row is below the first.
    const rows = tab.page.locator('.md mtable mtr');
    const [first, second] = [await rows.first().boundingBox(), await rows.nth(1).boundingBox()];
    expect(second!.y).toBeGreaterThanOrEqual(first!.y + first!.height - 1);
    await tab.screenshot('formulas');
  });

  it('copies a formula as it was written', async () => {
    await fixture.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await answer('The area $\\pi r^2$ of a circle.');
    await tab.page.locator('.md math').waitFor();
    await tab.page.locator('.md p').selectText();
    await tab.page.keyboard.press('ControlOrMeta+c');
    const copied = (): Promise<string> => tab.page.evaluate(() => navigator.clipboard.readText());
    await vi.waitFor(
      async () => expect((await copied()).trim()).toBe('The area $\\pi r^2$ of a circle.'),
      WAIT,
    );
  });

  it('shows the source of what is no formula, whatever is around it', async () => {
    await fixture.open();
    await answer(
      'a $\\frac{1}$ b \\(\\nonsense{1}\\) c\n\n\\[\\begin{x} 1\\]\n\n```math\n\\frac{\n```\n\nfine: $x^2$',
    );
    await tab.page.locator('.md math').waitFor();
    expect(await tab.page.locator('.md math').count()).toBe(1);
    const sources = await tab.page.locator('.md .formula > code').allInnerTexts();
    expect(sources).toEqual(['\\frac{1}', '\\nonsense{1}', '\\begin{x} 1', '\\frac{']);
  });

  it('lets a formula reach neither addresses nor what is around the answer', async () => {
    await fixture.open();
    await answer(
      'a $\\href{javascript:alert(1)}{x}$ b $\\includegraphics{https://x.org/a.png}$ c $\\rule{900em}{900em}$ d ' +
        '$\\htmlStyle{position:fixed}{x}$ e $x^2\\raise{500em}{y}$',
    );
    await tab.page.locator('.md math').first().waitFor();
    expect(await tab.page.locator('.md .formula :is([href], [src], a, img)').count()).toBe(0);
    expect(
      await tab.page
        .locator('.md')
        .last()
        .evaluate((md) => getComputedStyle(md).contain),
    ).toBe('paint');
  });

  it('raises the numbers of footnotes, which lead to their texts and back', async () => {
    await fixture.open();
    const text = 'One[^1] and two[^2], as a source[^9].\n\n[^1]: The *first* note.\n[^2]: The second.';
    await answer(text);
    await answer(text);
    const call = tab.page.getByRole('button', { name: 'Footnote 2' }).last();
    expect(await call.evaluate((button) => button.parentElement?.tagName)).toBe('SUP');
    await call.click();
    const focused = tab.page.locator(':focus');
    expect(await focused.innerText()).toContain('The second.');
    expect(await focused.evaluate((note) => note.id)).toBe(await call.getAttribute('aria-describedby'));
    await focused.getByRole('button', { name: 'Back to the text' }).click();
    expect(await call.evaluate((button) => button === document.activeElement)).toBe(true);
    expect(await tab.page.locator('.note-call', { hasText: '[9]' }).first().locator('button').count()).toBe(
      0,
    );
    const ids = await tab.page.locator('.notes li').evaluateAll((notes) => notes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(4);
    await tab.screenshot('footnotes');
  });

  it('typesets each formula of a growing answer once it has ended, and loses no other word', async () => {
    await fixture.open();
    const turn = await fixture.ask('well?');
    turn.say('Begin $x^');
    await tab.page.getByText('Begin $x^').waitFor();
    turn.say('2$ then \\[\\frac{a}{');
    await tab.page.locator('.md math').waitFor();
    turn.say('b}\\] end');
    await expect.poll(() => tab.page.locator('.md math').count(), WAIT).toBe(2);
    expect(await tab.page.locator('.md').last().innerText()).toMatch(/^Begin[^]*then[^]*end$/);
    turn.end();
    await tab.page.locator('.turn-foot time').last().waitFor();
    expect(await tab.page.locator('.md math').count()).toBe(2);
  });

  it('shows a callout as one, with its heading', async () => {
    await fixture.open();
    await answer('> [!WARNING]\n> Mind the **gap**.\n\n> Just a quote.');
    const callout = tab.page.getByRole('note');
    expect(await callout.innerText()).toBe('Warning\n\nMind the gap.');
    expect(await callout.getAttribute('class')).toContain('warning');
    expect(await tab.page.locator('.md blockquote').innerText()).toBe('Just a quote.');
    await tab.screenshot('callout');
  });

  it('names a picture of another server, and asks that server for nothing', async () => {
    await fixture.open();
    const asked: string[] = [];
    tab.page.on('request', (request) => asked.push(request.url()));
    await answer('![cat](https://example.org/cat.png) ![](https://example.org/dog.png)');
    const links = tab.page.locator('.md a.picture-link');
    expect(await links.allInnerTexts()).toEqual(['Picture: cat (example.org)', 'Picture (example.org)']);
    expect(await links.first().getAttribute('href')).toBe('https://example.org/cat.png');
    expect(asked.filter((url) => url.includes('example.org'))).toEqual([]);
  });
});
