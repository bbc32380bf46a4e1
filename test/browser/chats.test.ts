/** The page over time: many chats, old pages, broken connections, small screens. */
import { expect, it, vi } from 'vitest';
import type { EventBody } from '../../src/contracts/event.ts';
import { WAIT, write } from './browser.ts';
import { describeEntrance } from './describe-page.ts';

describeEntrance('the page, over time', (guest, at) => {
  it('reconnects by itself and shows exactly what was said meanwhile', async () => {
    await at.enter();
    const turn = await at.ask('count');
    turn.say('one ', 'two ');
    await guest.page.locator('.md', { hasText: 'one two' }).waitFor();
    await at.api.channel.stop();
    await guest.page.getByText('Connection lost. Reconnecting…').waitFor();
    turn.say('three ', 'four ');
    await at.api.channel.start(at.api.gateway.receive);
    await guest.page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'hidden' });
    turn.say('five');
    turn.end();
    await guest.page.locator('.turn-foot time').waitFor();
    expect(await guest.page.locator('.md').innerText()).toBe('one two three four five');
    expect(await guest.page.locator('.bubble').allInnerTexts()).toEqual(['count']);
  });

  it('shows a whole answer that ended while nobody was connected', async () => {
    await at.enter();
    const turn = await at.ask('count');
    turn.say('one ');
    await guest.page.locator('.md', { hasText: 'one' }).waitFor();
    await at.api.channel.stop();
    turn.say('two');
    turn.end();
    await at.api.channel.start(at.api.gateway.receive);
    await guest.page.locator('.turn-foot time').waitFor();
    expect(await guest.page.locator('.md').innerText()).toBe('one two');
  });

  it('leaves nothing of a turn that had nothing to say', async () => {
    await at.enter();
    const turn = await at.ask('hello');
    turn.say('Hi.');
    turn.end();
    await guest.page.locator('.turn-foot time').waitFor();
    const [session] = await at.api.gateway.sessions({ tokenId: 'admin', scopes: ['admin'] }, { limit: 1 });
    const tell = (body: EventBody): void =>
      at.api.gateway.events.emit(session?.key ?? 'http:none', body, 'quiet');
    tell({ type: 'turn_started' });
    await guest.page.locator('.turn .dots').waitFor();
    expect(await guest.page.locator('.turn').count()).toBe(2);
    tell({ type: 'turn_ended', reason: 'completed' });
    await vi.waitFor(async () => expect(await guest.page.locator('.turn').count()).toBe(1), WAIT);
    expect(await guest.page.locator('.md').innerText()).toBe('Hi.');
  });

  it('keeps a running answer when it is reloaded in the middle', async () => {
    await at.enter();
    const turn = await at.ask('count');
    turn.say('one ');
    await guest.page.locator('.md', { hasText: 'one' }).waitFor();
    await guest.page.reload();
    await guest.page.locator('.md', { hasText: 'one' }).waitFor();
    turn.say('two');
    turn.end();
    await guest.page.locator('.turn-foot time').waitFor();
    expect(await guest.page.locator('.md').innerText()).toBe('one two');
  });

  it('sends once, however often a failed message is tried again', async () => {
    await at.enter();
    at.api.gateway.storeDown = true;
    await write(guest.page, 'important');
    await guest.page.getByText('Not sent: The database cannot be reached.').waitFor();
    at.api.gateway.storeDown = false;
    await guest.page.getByRole('button', { name: 'Try again' }).click();
    await vi.waitFor(() => expect(at.turns).toHaveLength(1), WAIT);
    await guest.page.getByText('Not sent').waitFor({ state: 'hidden' });
    expect(await guest.page.locator('.bubble').allInnerTexts()).toEqual(['important']);
  });

  it('lists chats by their first message, switches, and deletes one only when that is confirmed', async () => {
    await at.enter();
    (await at.ask('about cats')).end();
    await guest.page.getByRole('button', { name: 'New chat' }).click();
    (await at.ask('about dogs')).end();
    const list = guest.page.getByRole('navigation', { name: 'Your chats' });
    await list.getByText('about dogs').waitFor();
    await list.getByText('about cats').click();
    await guest.page.locator('.bubble', { hasText: 'about cats' }).waitFor();
    expect(await guest.page.locator('.bubble').count()).toBe(1);
    for (const answer of ['Keep it', 'Delete it']) {
      await list.getByRole('button', { name: 'Delete “about dogs”' }).click();
      await guest.page.getByRole('button', { name: answer }).click();
    }
    await list.getByText('about dogs').waitFor({ state: 'detached' });
    expect(await list.getByText('about cats').count()).toBe(1);
  });

  it('shows chats of other channels to the owner, to watch and not to write', async () => {
    at.api.gateway.commit('telegram:42', 't1', 'user', 'from my phone', false);
    await at.enter();
    await guest.page.getByText('from my phone').click();
    await guest.page.getByText('This chat lives on Telegram.').waitFor();
    expect(await guest.page.getByLabel('Message', { exact: true }).isVisible()).toBe(false);
    const receipt = await at.api.gateway.receive({
      id: 'u1',
      channel: 'telegram',
      chatId: '42',
      senderId: '42',
      content: 'live from the phone',
      timestamp: Date.now(),
      media: [],
      place: 'private',
      mentioned: true,
    });
    expect(receipt.kind).toBe('accepted');
    await guest.page.locator('.bubble', { hasText: 'live from the phone' }).waitFor();
    at.turns[0]?.say('seen at once');
    await guest.page.locator('.md', { hasText: 'seen at once' }).waitFor();
  });

  it('reads old pages upwards without losing the place', async () => {
    for (let i = 1; i <= 130; i += 1) at.api.gateway.commit('http:long', `t${i}`, 'user', `line ${i}`, false);
    await at.enter();
    await guest.page.getByRole('navigation').getByText('line 1', { exact: true }).click();
    await guest.page.locator('.bubble', { hasText: 'line 130' }).waitFor();
    expect(await guest.page.locator('.bubble').count()).toBe(50);
    await guest.page.locator('#scroller').evaluate((scroller) => (scroller.scrollTop = 0));
    await vi.waitFor(
      async () => expect(await guest.page.locator('.bubble').count()).toBeGreaterThanOrEqual(100),
      WAIT,
    );
    await guest.page.getByText('line 81', { exact: true }).waitFor();
    const shown = await guest.page.locator('.bubble').allInnerTexts();
    expect(shown).toEqual(shown.map((_, index) => `line ${131 - shown.length + index}`));
    expect(await guest.page.locator('#scroller').evaluate((scroller) => scroller.scrollTop)).toBeGreaterThan(
      500,
    );
  });

  it('shows a stored plan as a card of its own, beside the answer (N-26)', async () => {
    at.api.gateway.commit('http:trip', 't1', 'user', 'plan my trip', false);
    at.api.gateway.commit('http:trip', 't1', 'assistant', '1. Pack\n2. Go', false).isPlan = true;
    at.api.gateway.commit('http:trip', 't1', 'assistant', 'All done.', false);
    await at.enter();
    await guest.page.getByRole('navigation').getByText('plan my trip').click();
    const plan = guest.page.getByRole('region', { name: 'Plan' });
    await plan.getByText('Pack').waitFor();
    expect(await guest.page.locator('.answer').innerText()).toBe('All done.');
  });

  it('says when it is a demo, and when the model server is away', async () => {
    at.api.gateway.report.demo = true;
    at.api.gateway.report.model = { state: 'down', detail: 'No model server at OLLAMA_HOST.' };
    await at.enter();
    await guest.page.getByText('No model server at OLLAMA_HOST.').waitFor();
    expect(await guest.page.getByText('Demo: answers come from a script').isVisible()).toBe(true);
  });

  it('asks with the chosen model', async () => {
    await at.enter();
    await guest.page.getByLabel('Model for the next messages').selectOption('tiny:1b');
    expect((await at.ask('hello')).options.model).toBe('tiny:1b');
  });

  it('is usable on a phone of 360 pixels: nothing sticks out, the list slides in', async () => {
    await at.enter({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    await guest.page.getByLabel('Message', { exact: true }).fill('hi');
    await guest.page.getByRole('button', { name: 'Send' }).tap();
    await vi.waitFor(() => expect(at.turns).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(at.api.gateway.events.listeners.size).toBe(1), WAIT);
    at.turns[0]?.say(
      '```\n',
      'x'.repeat(300),
      '\n```\n\n| ',
      'wide | '.repeat(20),
      '\n|',
      '---|'.repeat(20),
      '\n',
    );
    at.turns[0]?.end();
    await guest.page.locator('.turn-foot time').waitFor();
    expect(await guest.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await guest.page.locator('#scroller').evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(
      0,
    );
    await guest.page.getByRole('button', { name: 'Show the list of chats' }).tap();
    await guest.page.getByRole('navigation').getByText('hi', { exact: true }).tap();
    await guest.page.getByRole('button', { name: 'New chat' }).waitFor({ state: 'hidden' });
  });

  it('is led by the keyboard: Enter sends, Shift+Enter makes a line', async () => {
    await at.enter();
    await guest.page.getByText('What shall we talk about?').waitFor();
    await guest.page.keyboard.type('one');
    await guest.page.keyboard.press('Shift+Enter');
    await guest.page.keyboard.type('two');
    await guest.page.keyboard.press('Enter');
    await vi.waitFor(() => expect(at.turns[0]?.message.content).toBe('one\ntwo'), WAIT);
    expect(await guest.page.evaluate(() => document.activeElement?.id)).toBe('draft');
  });
});
