/** `/new` on the page of a whole gateway: the line where a new conversation begins, live, after a reload and elsewhere. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../../../../flows/setup.ts';
import { write } from '../../browser/browser.ts';
import { describePage } from '../../browser/describe-page.ts';

describePage('the line of a new conversation', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture();
  });
  afterAll(() => fixture.close());

  /** Texts of the transcript, in order: questions, answers and lines. */
  const shown = async (): Promise<string[]> => {
    const texts = await tab.page.locator('.message-text, .md, .reset-line').allInnerTexts();
    return texts.map((text) => text.replace(/ · .*/s, ''));
  };
  const showsInOrder = (texts: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await shown()).toEqual(texts), WAIT);
  const ask = async (text: string, answer: string): Promise<void> => {
    fixture.ollama.answer({ text: answer }, { when: text });
    await write(tab.page, text);
    await tab.page.locator('.md', { hasText: answer }).waitFor();
  };

  it('stands where /new was sent, live, after a reload, and in a browser that did not send it', async () => {
    await tab.open(fixture.gateway.url, { token: OWNER });
    await ask('the first question', 'The first answer.');
    await write(tab.page, '/new');
    const line = tab.page.locator('.reset-line');
    await line.waitFor();
    await expect.poll(() => line.innerText(), WAIT).toMatch(/^New conversation · .*\d:\d\d/);
    expect(await line.locator('time').getAttribute('title')).toMatch(/\d{4}.*\d:\d\d:\d\d/);
    await write(tab.page, '/status');
    // The answer of the command is there.
    await vi.waitFor(async () => expect(await tab.page.locator('.md').count()).toBe(3), WAIT);
    await ask('the second question', 'The second answer.');
    const before = await shown();
    expect(before.slice(0, 6)).toEqual([
      'the first question',
      'The first answer.',
      '/new',
      'This is a new conversation.',
      'New conversation',
      '/status',
    ]);
    await tab.page.reload();
    await showsInOrder(before);
    const address = tab.page.url();
    await tab.open(fixture.gateway.url, { token: OWNER, locale: 'de-AT' });
    await tab.page.goto(address);
    await showsInOrder([
      'the first question',
      'The first answer.',
      'Neues Gespräch',
      'the second question',
      'The second answer.',
    ]);
  });

  it('appears immediately when another surface of the same session sends /new, and moves with a repeat', async () => {
    await tab.open(fixture.gateway.url, { token: OWNER });
    await ask('the third question', 'The third answer.');
    const key = decodeURIComponent(new URL(tab.page.url()).hash).replace(/^#/, '');
    const command = { method: 'POST', json: { content: '/new' } };
    expect((await fixture.call(`/v1/sessions/${encodeURIComponent(key)}/messages`, command)).status).toBe(
      200,
    );
    await showsInOrder(['the third question', 'The third answer.', 'New conversation']);
    await fixture.call(`/v1/sessions/${encodeURIComponent(key)}/messages`, command);
    const read = await fixture.call(`/v1/sessions/${encodeURIComponent(key)}/messages`);
    expect(await read.json()).toMatchObject({ resets: [{ after: 2 }] });
    await tab.page.reload();
    await showsInOrder(['the third question', 'The third answer.', 'New conversation']);
  });
});
