/** The page over time: many chats, older messages, broken connections, small screens. */
import { expect, it, vi } from 'vitest';
import type { EventBody } from '../../../../../src/protocol/event.ts';
import type { InboundMessage } from '../../../../../src/protocol/message.ts';
import { signIn, WAIT, write } from '../browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from '../browser/describe-page.ts';

/** A message of a private chat on Telegram. */
const said = (chatId: string, content: string): InboundMessage => ({
  id: 'u1',
  channel: 'telegram',
  chatId,
  senderId: chatId,
  content,
  timestamp: Date.now(),
  media: [],
  place: 'private',
  mentioned: true,
});

describePageOnFakeGateway('the page, over time', (tab, fixture) => {
  it('reconnects on its own and shows exactly what was sent in the meantime', async () => {
    await fixture.open();
    const turn = await fixture.ask('count');
    turn.say('one ', 'two ');
    await tab.page.locator('.md', { hasText: 'one two' }).waitFor();
    await fixture.api.channel.stop();
    await tab.page.getByText('Connection lost. Reconnecting…').waitFor();
    turn.say('three ', 'four ');
    await fixture.api.channel.start(fixture.api.gateway.receive);
    await tab.page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'hidden' });
    turn.say('five');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    await expect.poll(() => tab.page.locator('.md').innerText(), WAIT).toBe('one two three four five');
    await expect.poll(() => tab.page.locator('.message-text').allInnerTexts(), WAIT).toEqual(['count']);
  });

  it('shows all of an answer that ended while it was disconnected', async () => {
    await fixture.open();
    const turn = await fixture.ask('count');
    turn.say('one ');
    await tab.page.locator('.md', { hasText: 'one' }).waitFor();
    await fixture.api.channel.stop();
    turn.say('two');
    turn.end();
    await fixture.api.channel.start(fixture.api.gateway.receive);
    await tab.page.locator('.turn-foot time').waitFor();
    await expect.poll(() => tab.page.locator('.md').innerText(), WAIT).toBe('one two');
  });

  it('greets no one above a message that was sent while the page still looked for the chat', async () => {
    let wasAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (wasAsked = resolve));
    let answerLate = (): void => undefined;
    const late = new Promise<void>((resolve) => (answerLate = resolve));
    await fixture.open();
    await tab.page.route(
      '**/v1/sessions/http%3Anew-one/events',
      async (route) => {
        const response = await route.fetch();
        wasAsked();
        await late;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await tab.page.route('**/v1/sessions/http%3Anew-one/messages', async (route) => {
      if (route.request().method() === 'POST') {
        const refused = tab.page.waitForResponse(/new-one\/events/);
        answerLate();
        await refused;
      }
      await route.continue();
    });
    await tab.page.evaluate(() => (location.hash = '#http:new-one'));
    await asked;
    const turn = await fixture.ask('hello');
    turn.say('Hi.');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    expect(await tab.page.getByText('What would you like to talk about?').count()).toBe(0);
    await tab.page.unrouteAll({ behavior: 'wait' });
  });

  it('follows a chat whose first message was accepted before the page learnt that there was no such chat', async () => {
    const posted = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await fixture.open();
    await tab.page.route(
      '**/v1/sessions/http%3Anew-two/events',
      async (route) => {
        const response = await route.fetch();
        asked.resolve();
        await posted.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await tab.page.evaluate(() => (location.hash = '#http:new-two'));
    await asked.promise;
    await write(tab.page, 'hello');
    await vi.waitFor(async () => expect(await tab.page.title()).toContain('hello'), WAIT);
    posted.resolve();
    const [turn] = fixture.turns;
    turn?.say('Hi.');
    await tab.page.locator('.md', { hasText: 'Hi.' }).waitFor();
    turn?.end();
    await tab.page.locator('.turn-foot time').waitFor();
    await tab.page.unrouteAll({ behavior: 'wait' });
  });

  it('removes a turn that ends without text', async () => {
    await fixture.open();
    const turn = await fixture.ask('hello');
    turn.say('Hi.');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    const [session] = await fixture.api.gateway.sessions(
      { tokenId: 'admin', scopes: ['admin'] },
      { limit: 1 },
    );
    const emit = (body: EventBody): void =>
      fixture.api.gateway.events.emit(session?.key ?? 'http:none', body, 'quiet');
    emit({ type: 'turn_started' });
    await tab.page.locator('.turn .dots').waitFor();
    expect(await tab.page.locator('.turn').count()).toBe(2);
    emit({ type: 'turn_ended', reason: 'completed' });
    await vi.waitFor(async () => expect(await tab.page.locator('.turn').count()).toBe(1), WAIT);
    expect(await tab.page.locator('.md').innerText()).toBe('Hi.');
  });

  it('keeps a running answer across a reload', async () => {
    await fixture.open();
    const turn = await fixture.ask('count');
    turn.say('one ');
    await tab.page.locator('.md', { hasText: 'one' }).waitFor();
    await tab.page.reload();
    await tab.page.locator('.md', { hasText: 'one' }).waitFor();
    turn.say('two');
    turn.end();
    await tab.page.locator('.turn-foot time').waitFor();
    await expect.poll(() => tab.page.locator('.md').innerText(), WAIT).toBe('one two');
  });

  it('sends a message once, however often a failed attempt is repeated', async () => {
    await fixture.open();
    fixture.api.gateway.storeDown = true;
    await write(tab.page, 'important');
    await tab.page.getByText('Not sent: The database cannot be reached.').waitFor();
    fixture.api.gateway.storeDown = false;
    await tab.page.getByRole('button', { name: 'Try again' }).click();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    await tab.page.getByText('Not sent').waitFor({ state: 'hidden' });
    expect(await tab.page.locator('.message-text').allInnerTexts()).toEqual(['important']);
  });

  it('lists chats by their first message, switches between them, and deletes one only after a confirmation', async () => {
    await fixture.open();
    (await fixture.ask('about cats')).end();
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    (await fixture.ask('about dogs')).end();
    const list = tab.page.getByRole('navigation', { name: 'Your chats' });
    await list.getByText('about dogs').waitFor();
    await list.getByText('about cats').click();
    await tab.page.locator('.message-text', { hasText: 'about cats' }).waitFor();
    expect(await tab.page.locator('.message-text').count()).toBe(1);
    for (const answer of ['Cancel', 'Delete']) {
      await list.getByLabel('Actions for “about dogs”').click();
      await list.getByRole('button', { name: 'Delete “about dogs”' }).click();
      await tab.page.getByRole('button', { name: answer, exact: true }).click();
    }
    await list.getByText('about dogs').waitFor({ state: 'detached' });
    expect(await list.getByText('about cats').count()).toBe(1);
  });

  it("keeps a chat's open menu, and the focus in it, when the list changes", async () => {
    await fixture.open();
    (await fixture.ask('about birds')).end();
    const list = tab.page.getByRole('navigation', { name: 'Your chats' });
    await list.getByLabel('Actions for “about birds”').click();
    const rename = list.getByRole('button', { name: 'Rename “about birds”' });
    await rename.focus();
    await rename.evaluate((element) => element.setAttribute('data-seen', ''));
    fixture.api.gateway.commit('telegram:43', 't1', 'user', 'from a train', false);
    await fixture.api.gateway.receive(said('43', 'I have arrived'));
    await list.getByText('from a train').waitFor();
    expect(await tab.page.locator(':focus').getAttribute('data-seen')).toBe('');
    await tab.page.keyboard.press('Escape');
    await rename.waitFor({ state: 'hidden' });
    expect(await tab.page.locator(':focus').getAttribute('aria-label')).toBe('Actions for “about birds”');
  });

  it('shows chats of other channels to the owner, who can follow them but not write in them', async () => {
    fixture.api.gateway.commit('telegram:42', 't1', 'user', 'from my phone', false);
    await fixture.open();
    await tab.page.getByText('from my phone').click();
    await tab.page.getByText('This chat is on Telegram.').waitFor();
    expect(await tab.page.getByLabel('Message', { exact: true }).isVisible()).toBe(false);
    const receipt = await fixture.api.gateway.receive(said('42', 'live from the phone'));
    expect(receipt.kind).toBe('accepted');
    await tab.page.locator('.message-text', { hasText: 'live from the phone' }).waitFor();
    fixture.turns[0]?.say('seen at once');
    await tab.page.locator('.md', { hasText: 'seen at once' }).waitFor();
  });

  it('takes the labels of channels from the gateway, even of one it does not know', async () => {
    fixture.api.gateway.report.channels['mx'] = { state: 'up', label: 'Matrix' };
    fixture.api.gateway.commit('mx:room-7', 't1', 'user', 'from another network', false);
    await tab.open(fixture.api.url);
    const released = Promise.withResolvers<void>();
    await tab.page.route('**/readyz', async (route) => {
      await released.promise;
      await route.continue();
    });
    await signIn(tab.page, TOKEN);
    await tab.page.getByText('from another network').click();
    // The list and the chat are drawn before the labels arrive.
    await tab.page.getByText('This chat is on mx.').waitFor();
    released.resolve();
    await tab.page.getByText('This chat is on Matrix.').waitFor();
    await expect.poll(() => tab.page.locator('#channel-badge').innerText(), WAIT).toBe('Matrix');
    await expect.poll(() => tab.page.locator('.session-meta').innerText(), WAIT).toMatch(/^Matrix · /);
  });

  it('loads older messages above without moving what the user is reading', async () => {
    for (let i = 1; i <= 130; i += 1)
      fixture.api.gateway.commit('http:long', `t${i}`, 'user', `line ${i}`, false);
    await fixture.open();
    await tab.page.getByRole('navigation').getByText('line 1', { exact: true }).click();
    await tab.page.locator('.message-text', { hasText: 'line 130' }).waitFor();
    expect(await tab.page.locator('.message-text').count()).toBe(50);
    await tab.page.locator('#scroller').evaluate((scroller) => (scroller.scrollTop = 0));
    await vi.waitFor(
      async () => expect(await tab.page.locator('.message-text').count()).toBeGreaterThanOrEqual(100),
      WAIT,
    );
    await tab.page.getByText('line 81', { exact: true }).waitFor();
    const shown = await tab.page.locator('.message-text').allTextContents();
    expect(shown).toEqual(shown.map((_, index) => `line ${131 - shown.length + index}`));
    expect(await tab.page.locator('#scroller').evaluate((scroller) => scroller.scrollTop)).toBeGreaterThan(
      500,
    );
  });

  it('shows a stored plan as a card next to the answer (N-26)', async () => {
    fixture.api.gateway.commit('http:trip', 't1', 'user', 'plan my trip', false);
    fixture.api.gateway.commit('http:trip', 't1', 'assistant', '1. Pack\n2. Go', false).isPlan = true;
    fixture.api.gateway.commit('http:trip', 't1', 'assistant', 'All done.', false);
    await fixture.open();
    await tab.page.getByRole('navigation').getByText('plan my trip').click();
    const plan = tab.page.getByRole('group', { name: /^Plan/ });
    await plan.getByText('Pack').waitFor();
    await expect.poll(() => tab.page.locator('.answer').innerText(), WAIT).toBe('All done.');
  });

  it('shows that it is a demo, and that the model server cannot be reached', async () => {
    fixture.api.gateway.report.demo = true;
    fixture.api.gateway.report.model = { state: 'down', detail: 'No model server at OLLAMA_HOST.' };
    await fixture.open();
    await tab.page.getByText('No model server at OLLAMA_HOST.').waitFor();
    expect(await tab.page.getByText('Demo: answers come from a script').isVisible()).toBe(true);
  });

  it('fits a phone of 360 pixels: nothing overflows, and the list of chats slides in', async () => {
    await fixture.open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    await tab.page.getByLabel('Message', { exact: true }).fill('hi');
    await tab.page.getByRole('button', { name: 'Send' }).tap();
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(fixture.api.gateway.events.listeners.size).toBe(2), WAIT);
    fixture.turns[0]?.say(
      '```\n',
      'x'.repeat(300),
      '\n```\n\n| ',
      'wide | '.repeat(20),
      '\n|',
      '---|'.repeat(20),
      '\n',
    );
    fixture.turns[0]?.end();
    await tab.page.locator('.turn-foot time').waitFor();
    expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await tab.page.locator('#scroller').evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    await tab.page.getByRole('button', { name: 'Show the list of chats' }).tap();
    await tab.page.getByRole('navigation').getByText('hi', { exact: true }).tap();
    await tab.page.getByRole('button', { name: 'New chat' }).waitFor({ state: 'hidden' });
  });

  it('can be used with the keyboard: Enter sends, Shift+Enter starts a new line', async () => {
    await fixture.open();
    await tab.page.getByText('What would you like to talk about?').waitFor();
    await tab.page.keyboard.type('one');
    await tab.page.keyboard.press('Shift+Enter');
    await tab.page.keyboard.type('two');
    await tab.page.keyboard.press('Enter');
    await vi.waitFor(() => expect(fixture.turns[0]?.message.content).toBe('one\ntwo'), WAIT);
    expect(await tab.page.evaluate(() => document.activeElement?.id)).toBe('draft');
  });
});
