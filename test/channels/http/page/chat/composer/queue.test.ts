/**
 * Messages that wait on the page of a whole gateway: listed, edited, sent now, dropped, and switched to another queue
 * mode.
 */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../../../../flows/setup.ts';
import { lastUserText } from '../../../../../fakes/model/spoken-text.ts';
import { write } from '../../browser/browser.ts';
import { describePage } from '../../browser/describe-page.ts';

describePage('the messages that wait', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(() => tab.open(fixture.gateway.url, { token: OWNER }));

  const waiting = (...texts: string[]): Promise<void> =>
    vi.waitFor(async () => {
      expect(await tab.page.locator('.queue-text').allInnerTexts()).toEqual(texts);
    }, WAIT);
  const row = (text: string) => tab.page.locator('.queue-row', { hasText: text });
  const queueUp = async (said: string, ...more: string[]): Promise<void> => {
    fixture.ollama.answer({ text: 'slow', hold: true }, { when: said });
    await write(tab.page, said);
    await fixture.modelCall(said);
    for (const text of more) await write(tab.page, text);
    await waiting(...more);
  };

  it('are edited, dropped and sent now', async () => {
    await queueUp('a long one', 'tea please', 'forget this', 'urgent');
    await row('tea please').getByRole('button', { name: 'Edit' }).click();
    await tab.page.getByRole('textbox', { name: 'Waiting message' }).fill('coffee please');
    await tab.page.getByRole('button', { name: 'Save' }).click();
    await waiting('coffee please', 'forget this', 'urgent');
    await tab.screenshot('queue');
    await row('forget this').getByRole('button', { name: 'Drop' }).click();
    await waiting('coffee please', 'urgent');
    await tab.page.getByText('Dropped: this message was not answered.').waitFor();
    await row('urgent').getByRole('button', { name: 'Send now' }).click();
    // The stopped question was not answered: the model reads both in one message.
    await tab.page.locator('.md', { hasText: /echo: a long one\s*urgent/ }).waitFor();
    await tab.page.locator('.md', { hasText: 'echo: coffee please' }).waitFor();
    const order = fixture.ollama.calls.map(({ body }) => lastUserText(body));
    expect(order.indexOf('a long one\n\nurgent')).toBeLessThan(order.indexOf('coffee please'));
    expect(order).toContain('a long one\n\nurgent');
    expect(order.join('\n')).not.toContain('forget this');
    await waiting();
  });

  it('join the running answer once that mode is chosen', async () => {
    const call = { toolCalls: [{ name: 'list_dir', args: { path: '.' } }], hold: true };
    fixture.ollama.answer(call, { when: 'look at it' });
    await write(tab.page, 'look at it');
    const held = await fixture.modelCall('look at it');
    // The panel is there for whoever writes behind a running answer.
    await tab.page.locator('#draft').fill('and count');
    await tab.page.getByLabel('Messages while I answer').selectOption('steer');
    await vi.waitFor(async () => {
      const { sessions } = await (await fixture.call('/v1/sessions?limit=1')).json();
      expect(sessions[0].queueMode).toBe('steer');
    }, WAIT);
    await write(tab.page, 'and count');
    await waiting('and count');
    held.release();
    await tab.page.getByText('Answered together with the previous message.').waitFor();
    await waiting();
  });
});
