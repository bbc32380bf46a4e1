/** What the user chooses for a chat: its profile, its plan mode and its model, even before it has begun. */
import { expect, it } from 'vitest';
import type { Caller } from '../../../../../../src/protocol/access.ts';
import { chooseInChat, WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

const ADMIN: Caller = { tokenId: 'admin', scopes: ['admin'] };

describePageOnFakeGateway('the choices of a chat', (tab, fixture) => {
  it("names the model that answers, keeps the chat's chosen one across a reload, and shows which one gave an answer", async () => {
    const { gateway } = fixture.api;
    gateway.conversations.model = async (_, key) => {
      const session = await gateway.session(ADMIN, key);
      const configured = session?.model ?? 'big:7b';
      const from = session?.model === undefined ? 'gateway' : 'session';
      return (
        session && {
          configured,
          answering: configured,
          from,
          profileId: 'default',
          reason: undefined,
          tools: true,
          omissions: [],
        }
      );
    };
    await fixture.open();
    const model = tab.page.locator('#model');
    const shown = (): Promise<string> =>
      model.evaluate((select: HTMLSelectElement) => select.selectedOptions[0]?.textContent ?? '');
    await expect.poll(shown, WAIT).toBe('big:7b (default)');
    await chooseInChat(tab.page, 'model', 'tiny:1b');
    const turn = await fixture.ask('hello');
    expect(turn.options).toMatchObject({ begins: { model: 'tiny:1b' } });
    turn.say('Hi.');
    turn.end();
    if (turn.final !== undefined) turn.final.model = 'tiny:1b';
    await tab.page.reload();
    await expect.poll(shown, WAIT).toBe('tiny:1b');
    expect(await tab.page.locator('.turn-foot .answered-by').innerText()).toBe('tiny:1b');
    await chooseInChat(tab.page, 'model', { label: 'big:7b (default)' });
    const chosen = async (): Promise<unknown> => (await gateway.sessions(ADMIN, { limit: 1 }))[0]?.model;
    await expect.poll(chosen, WAIT).toBeUndefined();
  });

  it('chooses profile and plan mode in a new chat, and offers no mode where a profile makes no plans', async () => {
    await fixture.open();
    await chooseInChat(tab.page, 'mode', 'teacher');
    await chooseInChat(tab.page, 'profile', 'chatty');
    await tab.page.locator('#mode').waitFor({ state: 'detached' });
    await tab.screenshot('new-chat-choices');
    const { begins } = (await fixture.ask('hello')).options;
    expect(begins).toEqual({ profileId: 'chatty', mode: 'teacher' });
  });

  it('shows briefly that no model answers, and names one once its server is back', async () => {
    const { conversations } = fixture.api.gateway;
    const choices = conversations.choices.bind(conversations);
    const problem = 'No model server at OLLAMA_HOST.';
    conversations.choices = async (...asked) => ({
      ...(await choices(...asked)),
      models: [],
      model: undefined,
      problem,
    });
    await fixture.open();
    const model = tab.page.locator('#model');
    await expect
      .poll(() => model.evaluate((select: HTMLSelectElement) => select.selectedOptions[0]?.textContent), WAIT)
      .toBe('No model is available');
    expect(await model.getAttribute('title')).toBe(problem);
    conversations.choices = choices;
    const turn = await fixture.ask('hello');
    turn.end();
    await expect
      .poll(() => model.evaluate((select: HTMLSelectElement) => select.selectedOptions[0]?.textContent), WAIT)
      .toBe('big:7b (default)');
  });
});
