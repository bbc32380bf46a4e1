/** Every screen of the page under axe: nothing critical and nothing serious, on a wide screen and on a phone, light and dark. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { objectionsAsItIs } from '../browser/axe.ts';
import { write } from '../browser/browser.ts';
import { describePage, type OpenOptions, PHONE } from '../browser/describe-page.ts';

const TEXT = [
  '## A heading',
  'Some **text** with `code` and a [link](https://example.org).',
  '- one\n- two',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '```js\nconst sum = 1; // one\n```',
  '> quoted',
].join('\n\n');

const SCREENS: [string, OpenOptions][] = [
  ['a wide screen', {}],
  ['a phone in dark mode', PHONE],
];

describePage('the page under axe', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture();
  });
  afterAll(() => fixture.close());

  const found = (): Promise<string[]> => objectionsAsItIs(tab.page);

  describe.each(SCREENS)('on %s', (_name, screen) => {
    it('has no violations at the sign-in', async () => {
      await tab.open(fixture.gateway.url, screen);
      await tab.page.getByLabel('Token').waitFor();
      expect(await found()).toEqual([]);
    });

    it('has no violations in an empty chat and its dialogs', async () => {
      await tab.open(fixture.gateway.url, { ...screen, token: OWNER });
      await tab.page.locator('.starters').waitFor();
      expect(await found()).toEqual([]);
      await tab.page.locator('#draft').fill('/');
      await tab.page.locator('.command').first().waitFor();
      expect(await found()).toEqual([]);
      await tab.page.locator('#draft').fill('');
      await tab.page.keyboard.press('?');
      await tab.page.locator('dialog#keys[open]').waitFor();
      expect(await found()).toEqual([]);
    });

    it('has no violations in a chat with texts, tools, answers and waiting messages', async () => {
      await tab.open(fixture.gateway.url, { ...screen, token: OWNER });
      const call = {
        thinking: 'Hm.',
        text: 'I look.',
        toolCalls: [{ name: 'list_dir', args: { path: '.' } }],
      };
      fixture.ollama.answer(call, { when: 'show everything' });
      fixture.ollama.answer(TEXT, { when: 'show everything' });
      await write(tab.page, `show everything\n${'line\n'.repeat(30)}`);
      await tab.page.locator('.code .hljs-keyword').waitFor();
      await tab.page.getByRole('button', { name: 'Answer again' }).waitFor();
      fixture.ollama.answer('another', { when: 'show everything' });
      await tab.page.getByRole('button', { name: 'Answer again' }).click();
      await tab.page.getByText('2/2').waitFor();
      await write(tab.page, '/undo');
      await tab.page.getByRole('button', { name: 'Put back' }).waitFor();
      fixture.ollama.answer({ text: 'slow', hold: true }, { when: 'take time' });
      await write(tab.page, 'take time');
      await write(tab.page, 'and this');
      await tab.page.locator('.queue-row').waitFor();
      await tab.screenshot(`axe-${screen.colorScheme ?? 'light'}`);
      expect(await found()).toEqual([]);
      await tab.page.getByRole('button', { name: 'Stop the answer' }).click();
      await tab.page.locator('.queue-row').waitFor({ state: 'hidden' });
      if (screen.viewport !== undefined)
        await tab.page.getByRole('button', { name: 'Show the list of chats' }).click();
      expect(await found()).toEqual([]);
    });
  });
});
