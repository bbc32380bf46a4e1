/**
 * What a newcomer does on the page in the first hour, as screenshots: with `PARLEY_SCREENSHOTS` set to a folder each
 * screen is saved there, on a wide screen in light mode and on a phone in dark mode.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { goToScreen } from '../operator/settings/setup.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../setup.ts';
import { write } from '../../channels/http/page/browser/browser.ts';
import { describePage, PHONE } from '../../channels/http/page/browser/describe-page.ts';

const ANSWER =
  '## Bread\n\nIt needs **four** things:\n\n1. flour\n2. water\n3. salt\n4. time\n\n```sh\nbake --hot bread\n```';

describePage('the first hour of a newcomer', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture({ tools: riskyTools([]) });
  });
  afterAll(() => fixture.close());

  it.each([
    ['on a wide screen in the light', {}, 'wide'],
    ['on a wide screen in the dark', { colorScheme: 'dark' as const }, 'wide-dark'],
    ['on a phone in the dark', PHONE, 'phone'],
    ['on a phone in the light', { ...PHONE, colorScheme: 'light' as const }, 'phone-light'],
  ])('leads %s from the first chat to the trace of a failure', async (_screen, context, name) => {
    const { ollama } = fixture;
    const save = (step: string): Promise<void> => tab.screenshot(`walk-${name}-${step}`);
    const page = await tab.open(`${fixture.gateway.url}/#http:${name}-bread`, { ...context, token: OWNER });
    const isPhone = context === PHONE || name.startsWith('phone');
    const said = page.locator('#transcript');
    const showList = async (): Promise<void> => {
      if (isPhone) await page.getByRole('button', { name: 'Show the list of chats' }).click();
    };
    const hideList = async (): Promise<void> => {
      if (isPhone) await page.getByRole('button', { name: 'Close the list of chats' }).click();
    };
    await page.locator('#draft').waitFor();
    await save('1-empty');

    const asked = `how do I bake bread, ${name}?`;
    ollama.answer(
      { thinking: 'I look first.', text: 'I look.', toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: asked },
    );
    ollama.answer(ANSWER, { when: asked });
    await write(page, asked);
    await said.getByText('flour').waitFor();
    await said.locator('.turn-foot time').waitFor();
    await page.reload();
    await said.getByText('list_dir').waitFor();
    await save('2-reloaded');

    ollama.answer('Another way: buy it.', { when: asked });
    await said.getByRole('button', { name: 'Answer again' }).click();
    await said.getByText('2/2').waitFor();
    await save('3-answered-again');

    await said.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await said.getByLabel('Your message').fill(`how do I bake rye, ${name}?`);
    await save('4-editing');
    const outside = await said
      .getByRole('button', { name: 'Send' })
      .evaluate((send) => send.getBoundingClientRect().right - window.innerWidth);
    expect(outside).toBeLessThan(0);
    ollama.answer('Rye needs sourdough.', { when: `how do I bake rye, ${name}?` });
    await said.getByRole('button', { name: 'Send' }).click();
    await said.getByText('Rye needs sourdough.').waitFor();
    await save('5-edited');

    await showList();
    await page.getByLabel('Search chats and messages').fill('sourdough');
    await page.getByRole('region', { name: 'Search results' }).getByText('found').waitFor();
    await save('6-search');
    await page.getByLabel('Search chats and messages').fill('');
    await hideList();

    const risky = `wipe the disk, ${name}`;
    ollama.answer({ text: 'I will.', toolCalls: [{ name: 'wipe', args: { word: name } }] }, { when: risky });
    ollama.answer('Wiped.', { when: risky });
    await fixture.post(`${name}-other`, risky);
    await showList();
    await page.getByRole('button', { name: 'Waiting for you: 1' }).click();
    const inbox = page.getByRole('dialog', { name: 'Waiting for you' });
    await inbox.getByText('May I do this?').waitFor();
    await save('7-inbox');
    await inbox.getByRole('button', { name: 'Approve', exact: true }).click();
    await inbox.waitFor({ state: 'hidden' });
    await hideList();
    await fixture.idle(`http:${name}-other`);

    ollama.answer(
      { failure: { kind: 'status', status: 400, error: 'the model is broken' } },
      { when: `fail, ${name}`, times: Infinity },
    );
    await page.evaluate((chat) => void (location.hash = `#http:${chat}-failed`), name);
    await write(page, `fail, ${name}`);
    await said.locator('.turn-error').waitFor();
    await save('8-failed');
    await said.getByRole('button', { name: 'Trace: what happened in this turn' }).click();
    await page.getByText('the turn ended: failed').waitFor();
    await save('9-trace');
    await page
      .getByRole('dialog', { name: 'Trace of a turn' })
      .getByRole('button', { name: 'Close' })
      .click();
    for (const screen of ['overview', 'usage', 'access', 'sign-ins', 'schedules']) {
      await goToScreen(page, screen);
      await save(`settings-${screen}`);
      const body = page.locator('.settings-body');
      const hidden = await body.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      expect(hidden, `pixels of ${screen} beside the screen`).toBe(0);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)).toBe(false);
  });
});
