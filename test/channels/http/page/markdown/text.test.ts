/**
 * Texts on the page: highlighted code, tables that are copied, blocks in their own direction, folded messages, prompts
 * and keys.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import {
  LANGUAGES,
  languageOf,
  MAX_COLOURED,
} from '../../../../../channels/http/page/markdown/code-colours.tsx';
import {
  isLong,
  MAX_SHOWN_CHARS,
  MAX_SHOWN_LINES,
} from '../../../../../channels/http/page/chat/turn/question.tsx';
import { objectionsAsItIs } from '../browser/axe.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

describePageOnFakeGateway('texts', (tab, fixture) => {
  const answer = async (question: string, text: string): Promise<void> => {
    const turn = await fixture.ask(question);
    turn.say(text);
    turn.end();
    await tab.page.locator('.turn-foot time').last().waitFor();
  };

  it('highlights code of known languages, by whichever name, and leaves the text as it was', async () => {
    await fixture.open();
    const code = 'const sum = (a) => a + 1; // <b>one</b> & "two"';
    await answer('code?', `\`\`\`js\n${code}\n\`\`\`\n\n\`\`\`nonsense\nconst x\n\`\`\``);
    await tab.page.locator('.code .hljs-keyword', { hasText: 'const' }).waitFor();
    const blocks = tab.page.locator('.code code');
    await expect.poll(() => blocks.first().innerText(), WAIT).toBe(code);
    expect(await blocks.nth(1).locator('span').count()).toBe(0);
    expect(await tab.page.locator('.code b').count()).toBe(0);
    await tab.screenshot('code');
  });

  it('shows names of characters, tags and marks of Chinese text as in chats', async () => {
    await fixture.open();
    await answer('signs?', '&copy; &hellip; &bogus; H<sub>2</sub>O <kbd>Esc</kbd><br>**注意：**约3~5天，$5');
    const text = tab.page.locator('.md p');
    expect(await text.innerText()).toBe('© … &bogus; H₂O Esc\n注意：约3~5天，$5');
    expect(await text.locator('strong').innerText()).toBe('注意：');
    expect(await text.locator('code').innerText()).toBe('Esc');
  });

  it('gives headings levels in order, wherever the model begins and whatever it leaves out', async () => {
    await fixture.open();
    await answer('headings?', '## One\n\n#### Two\n\n> # Three\n\n- # Four\n\n### Five\n\n# Six\n\n## Seven');
    const levels = await tab.page
      .locator('.md [role=heading]')
      .evaluateAll((all) => all.map((one) => [one.textContent, one.getAttribute('aria-level')]));
    expect(levels).toEqual([
      ['One', '2'],
      ['Two', '3'],
      ['Three', '4'],
      ['Four', '4'],
      ['Five', '3'],
      ['Six', '2'],
      ['Seven', '3'],
    ]);
    expect((await objectionsAsItIs(tab.page)).filter((one) => one.startsWith('heading-order'))).toEqual([]);
  });

  it('does not highlight code that is too long', async () => {
    await fixture.open();
    const long = `\`\`\`json\n${'1 '.repeat(MAX_COLOURED / 2)}2\n\`\`\`\n\n\`\`\`json\n{"a": 1}\n\`\`\``;
    await answer('long code?', long);
    await tab.page.locator('.code .hljs-attr').waitFor();
    expect(await tab.page.locator('.code code').first().locator('span').count()).toBe(0);
  });

  it('copies a table as cells, and code verbatim', async () => {
    await fixture.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await answer('table?', '| a | b |\n|---|---|\n| **1** | two words |\n\n```sh\nls -l\n```');
    const copied = (): Promise<string> => tab.page.evaluate(() => navigator.clipboard.readText());
    await tab.page.getByRole('button', { name: 'Copy the table' }).click();
    await vi.waitFor(async () => expect(await copied()).toBe('a\tb\n1\ttwo words'), WAIT);
    await tab.page.getByRole('button', { name: 'Copy the code' }).click();
    await vi.waitFor(async () => expect(await copied()).toBe('ls -l'), WAIT);
  });

  it('gives each block its own direction', async () => {
    await fixture.open();
    await answer('two directions?', 'left to right\n\nשלום עולם\n\n```\ncode\n```');
    const directions = tab.page.locator('.md p');
    const of = (nth: number): Promise<string> =>
      directions.nth(nth).evaluate((element) => getComputedStyle(element).direction);
    expect([await of(0), await of(1)]).toEqual(['ltr', 'rtl']);
    await tab.screenshot('directions');
  });

  it('folds a long message, and shows all of it on request', async () => {
    await fixture.open({ ...PHONE });
    await answer(Array.from({ length: 60 }, (_, n) => `line ${n}`).join('\n'), 'That was long.');
    const text = tab.page.locator('.message-text');
    const height = (): Promise<number> => text.evaluate((element) => element.clientHeight);
    const folded = await height();
    await tab.screenshot('folded');
    await tab.page.getByRole('button', { name: 'Show all' }).click();
    expect(await height()).toBeGreaterThan(folded * 3);
    await tab.page.getByRole('button', { name: 'Show less' }).click();
    expect(await height()).toBe(folded);
  });

  it('offers prompts in an empty chat, and lists its keys on ?', async () => {
    await fixture.open();
    await tab.page.keyboard.press('?');
    await tab.page.getByText('start a new line').waitFor();
    await tab.screenshot('keys');
    await tab.page.keyboard.press('Escape');
    await tab.page.getByText('start a new line').waitFor({ state: 'hidden' });
    await tab.page.getByRole('button', { name: 'Plan a weekend trip' }).click();
    await vi.waitFor(() => expect(fixture.turns[0]?.message.content).toMatch(/^Plan a weekend trip/), WAIT);
    expect(await tab.page.locator('.starters').count()).toBe(0);
  });

  it('loads the highlighting of a language, and of no other, when its code is shown', async () => {
    const asked: string[] = [];
    await fixture.open();
    tab.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await answer('code?', '```sh\necho hi\n```');
    await tab.page.locator('.code .hljs-built_in').waitFor();
    const loaded = asked.filter((path) => path.startsWith('/page/assets/'));
    expect(loaded.map((path) => path.replace(/-[0-9a-f]{16}/, '')).toSorted()).toEqual([
      '/page/assets/bash.min.js',
      '/page/assets/code-colours.js',
      '/page/assets/core.min.js',
    ]);
  });

  it('recognizes a language by its names, and a long message by its lines and characters', () => {
    expect([languageOf('TS'), languageOf('py'), languageOf('klingon'), languageOf('')]).toEqual([
      'typescript',
      'python',
      undefined,
      undefined,
    ]);
    const served = readdirSync(
      new URL('languages/', import.meta.resolve('@highlightjs/cdn-assets/es/core.min.js')),
    );
    for (const name of Object.keys(LANGUAGES)) expect(served).toContain(`${name}.min.js`);
    const lines = Array.from({ length: MAX_SHOWN_LINES }, () => 'x').join('\n');
    expect([isLong(lines), isLong(`${lines}\nx`)]).toEqual([false, true]);
    expect([isLong('x'.repeat(MAX_SHOWN_CHARS)), isLong('x'.repeat(MAX_SHOWN_CHARS + 1))]).toEqual([
      false,
      true,
    ]);
    expect(
      readFileSync(new URL('../../../../../channels/http/page/index.html', import.meta.url), 'utf8'),
    ).toContain('code.css');
  });
});
