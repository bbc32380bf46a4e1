/** A gateway with something on every screen of the page, and a walk over all of them: chat, plan, question, lists, dialogs, settings. */
import { riskyTools } from '../../../../fakes/agent/risky-tools.ts';
import { goToScreen, openFurnishedGateway, SCREENS } from '../../../../flows/operator/settings/setup.ts';
import { type GatewayFixture, OWNER } from '../../../../flows/setup.ts';
import type { Page } from 'playwright-core';
import { chooseFromChat } from '../browser/browser.ts';
import type { OpenOptions, Tab } from '../browser/describe-page.ts';

const TEXT =
  'Some `code` and a [link](https://example.org).\n\n```js\nconst sum = 1;\n```\n\n| a |\n|---|\n| 1 |';

/** Opens the gateway; the caller closes it. */
export function openGatewayOfEveryScreen(): Promise<GatewayFixture> {
  return openFurnishedGateway({ tools: riskyTools([]) });
}

/** Goes to every screen of the page, signed in as the owner, and calls `look` with its name each time. */
export async function visitEveryScreen(
  tab: Tab,
  { gateway, ollama }: GatewayFixture,
  options: OpenOptions,
  look: (screen: string) => Promise<void>,
): Promise<void> {
  const chat = `walk-${crypto.randomUUID()}`;
  const page = await tab.open(`${gateway.url}/#http:${chat}`, options);
  await page.getByLabel('Token').waitFor();
  await look('sign-in');
  await tab.open(`${gateway.url}/#http:${chat}`, { ...options, token: OWNER });
  await visitChat(tab, ollama, look);
  await visitQuestion(tab, ollama, look);
  await visitPlan(tab, ollama, look);
  await visitLists(tab, look);
  for (const screen of SCREENS) {
    await goToScreen(tab.page, screen);
    const folded = tab.page.locator('#settings details');
    await folded.evaluateAll((all) => all.slice(0, 3).forEach((one) => one.setAttribute('open', '')));
    await look(`settings/${screen}`);
  }
  await goToScreen(tab.page, 'profiles');
  await tab.page.getByRole('link', { name: 'Edit: coder' }).click();
  await tab.page.getByLabel('Temperature').waitFor();
  await look('settings/profiles/coder');
  await goToScreen(tab.page, 'channels/telegram');
  await tab.page.getByRole('heading', { name: 'Telegram' }).waitFor();
  await look('settings/channels/telegram');
}

type Look = (screen: string) => Promise<void>;

/** With the button: on touch screens Enter begins a new line. */
async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** On a phone the list covers the chat. */
async function showList(page: Page): Promise<void> {
  const show = page.getByRole('button', { name: 'Show the list of chats' }).first();
  if (await show.isVisible()) await show.click();
}

async function hideList(page: Page): Promise<void> {
  const hide = page.getByRole('button', { name: 'Close the list of chats' }).first();
  if (await hide.isVisible()) await hide.click();
}

async function visitChat({ page }: Tab, ollama: GatewayFixture['ollama'], look: Look): Promise<void> {
  await page.locator('.starters').waitFor();
  await look('empty chat');
  ollama.answer(
    { thinking: 'Hm.', toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
    { when: 'show all' },
  );
  ollama.answer(TEXT, { when: 'show all' });
  await write(page, `show all\n${'line\n'.repeat(30)}`);
  await page.getByRole('button', { name: 'Answer again' }).waitFor();
  ollama.answer('another', { when: 'show all' });
  await page.getByRole('button', { name: 'Answer again' }).click();
  await page.getByText('2/2').waitFor();
  await look('chat');
  await page.getByRole('button', { name: 'Trace: what happened in this turn' }).last().click();
  await page.locator('dialog.trace[open]').getByRole('button').last().waitFor();
  await look('Trace: what happened in this turn');
  await page.keyboard.press('Escape');
  await chooseFromChat(page, 'Files');
  await page.locator('dialog.details[open]').getByRole('button').last().waitFor();
  await look('files of the chat');
  await page.keyboard.press('Escape');
  for (const menu of ['chat-menu', 'choices']) {
    await page.locator(`[popovertarget=${menu}]`).click();
    await look(menu);
    await page.keyboard.press('Escape');
  }
  ollama.answer({ text: 'slow', hold: true }, { when: 'take time' });
  await write(page, 'take time');
  await write(page, 'and this');
  await page.locator('.queue-row').waitFor();
  await look('chat with waiting messages');
  await page.getByRole('button', { name: 'Stop the answer' }).click();
  await page.locator('.queue-row').waitFor({ state: 'hidden' });
  await write(page, '/new');
  await page.locator('.reset-line').waitFor();
}

async function visitQuestion({ page }: Tab, ollama: GatewayFixture['ollama'], look: Look): Promise<void> {
  ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'the disk' } }] }, { when: 'wipe the disk' });
  ollama.answer('Wiped.', { when: 'wipe the disk' });
  await write(page, 'wipe the disk');
  await page.locator('#approvals').getByText('May I do this?').waitFor();
  await look('question');
  await showList(page);
  await page.getByRole('button', { name: 'Waiting for you: 1' }).click();
  const inbox = page.getByRole('dialog', { name: 'Waiting for you' });
  await inbox.getByText('May I do this?').waitFor();
  await look('inbox');
  await inbox.getByRole('button', { name: 'Approve', exact: true }).click();
  await inbox.waitFor({ state: 'hidden' });
  await hideList(page);
  await page.locator('#transcript').getByText('Wiped.').waitFor();
  await page.locator('#transcript .tool').last().locator('summary').click();
  await look('decided question');
}

async function visitPlan({ page }: Tab, ollama: GatewayFixture['ollama'], look: Look): Promise<void> {
  ollama.answer('Two steps.\nREFLECT: no', { when: 'clean the attic' });
  ollama.answer('Steps\n1. [SELF] Sweep\n2. [SELF] Mop', { when: 'clean the attic' });
  await write(page, '/plan clean the attic');
  const plan = page.locator('.plan').last();
  await plan.getByText('not started').waitFor();
  await plan.getByRole('button', { name: 'Edit', exact: true }).click();
  await plan.getByLabel('Text of step 2').waitFor();
  await look('plan');
}

async function visitLists({ page }: Tab, look: Look): Promise<void> {
  await showList(page);
  await page.locator('#schedules summary').click();
  await page.locator('#sessions [aria-label^="Actions for"]').first().click();
  await look('list of chats');
  await page.keyboard.press('Escape');
  await page.getByLabel('Search chats and messages').fill('attic');
  await page
    .getByRole('region', { name: 'Search results' })
    .getByText(/chats? found/)
    .waitFor();
  await look('search');
  await page.getByLabel('Search chats and messages').fill('');
}
