/** One failure has one notice on the page, wherever it was met: a banner, the message itself, or the sign-in. */
import { expect, it, vi } from 'vitest';
import { chooseInChat, WAIT, write } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

describePageOnFakeGateway('a failure', (tab, fixture) => {
  const LOST = 'Connection lost. Reconnecting…';
  /** Every notice that is visible: banners, notes at the edge, and red texts. */
  const notices = async (): Promise<string[]> => {
    const all = await tab.page
      .locator('.banner:visible, .toast:visible, .error-text:visible, .turn-error:visible')
      .allInnerTexts();
    return all.map((text) => text.trim()).filter((text) => text !== '');
  };
  const showsOnly = (...texts: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await notices()).toEqual(texts), WAIT);
  const stop = () => fixture.api.channel.stop();
  const start = () => fixture.api.channel.start(fixture.api.gateway.receive);

  it('of the connection is shown only by the banner, whatever is requested meanwhile, until it ends and what was written goes out', async () => {
    await fixture.open();
    const turn = await fixture.ask('count');
    turn.say('one');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    await stop();
    await showsOnly(LOST);
    await tab.page.getByLabel('Search chats and messages').fill('count');
    await chooseInChat(tab.page, 'mode', 'teacher');
    await write(tab.page, 'and then?');
    await tab.page.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await notices()).toEqual([
      LOST,
      'Not sent yet: it goes out when the connection is back. Try again',
    ]);
    await start();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(2), WAIT);
    await showsOnly();
  });

  it('of the connection has its banner in a chat that has no stream yet', async () => {
    await fixture.open();
    await stop();
    await write(tab.page, 'hello');
    await showsOnly(LOST, 'Not sent yet: it goes out when the connection is back. Try again');
    await start();
    await vi.waitFor(
      () => expect(fixture.turns.map(({ message }) => message.content)).toEqual(['hello']),
      WAIT,
    );
    await showsOnly();
  });

  it('of the gateway that fails many requests is shown once', async () => {
    await fixture.open();
    await fixture.ask('count');
    const body = JSON.stringify({ error: { code: 'internal', message: 'The store is away.' } });
    await tab.page.route(/\/v1\/(sessions\?|approvals|schedules|search)/, (route) =>
      route.fulfill({ status: 500, contentType: 'application/json', body }),
    );
    await tab.page.getByLabel('Search chats and messages').fill('count');
    fixture.turns[0]?.say('one');
    fixture.turns[0]?.end();
    await showsOnly('The store is away.');
    await vi.waitFor(async () => expect(await tab.page.locator('.turn-foot time').count()).toBe(1), WAIT);
    expect(await notices()).toEqual(['The store is away.']);
  });

  it('of a refused message is shown at the message, and of a token at the sign-in', async () => {
    await fixture.open();
    await write(tab.page, 'a thought that took long '.repeat(1_300));
    await showsOnly('Not sent: At most 32000 characters.');
    await tab.page.getByLabel('Message', { exact: true }).fill('short');
    await fixture.ask('count');
    fixture.api.gateway.tokens.clear();
    fixture.turns[0]?.say('one');
    fixture.turns[0]?.end();
    await tab.page.getByLabel('Token').waitFor();
    await vi.waitFor(async () => expect((await notices()).length).toBe(1), WAIT);
    expect((await notices())[0]).toContain('That token is not valid.');
  });

  it('of a model server is shown by the answer that failed for it, else by the banner', async () => {
    const { health } = fixture.api.gateway;
    const detail = 'No model server answers.';
    fixture.api.gateway.health = async () => ({ ...(await health()), model: { state: 'down', detail } });
    await fixture.open();
    await showsOnly(detail);
    const turn = await fixture.ask('hello');
    const waits = 'The model is away; I try again.';
    turn.emit({ type: 'notice', code: 'model_unavailable', text: waits });
    await tab.page.getByText(waits).waitFor();
    turn.end('failed', 'No model server answers. Start it with "ollama serve".');
    await showsOnly('No model server answers. Start it with "ollama serve".');
    expect(await tab.page.getByText(waits).count()).toBe(0);
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await showsOnly(detail);
  });
});
