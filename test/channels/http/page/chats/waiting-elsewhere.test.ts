/** Decisions that wait in other chats, on a phone, where the list of chats is hidden: a line that leads to them, and a number on the menu button. */
import { expect, it, vi } from 'vitest';
import type { BrowserContextOptions, Locator } from 'playwright-core';
import { pendingApproval } from '../../../../fakes/gateway/pending-approval.ts';
import type { FakeTurn } from '../../../../fakes/gateway/turn.ts';
import { objections } from '../browser/axe.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

/** Under a finger. */
const LEAST_PX = 44;
const LONG_NAME =
  'Please tidy up the whole workspace before the end of the day, and then tell everyone about it';

const heightOf = async (control: Locator): Promise<number> => (await control.boundingBox())?.height ?? 0;

describePageOnFakeGateway('decisions that wait elsewhere', (tab, fixture) => {
  let messages = 0;
  /** Someone asks in another chat than the open one; gives the turn. */
  async function askElsewhere(chatId: string, content: string): Promise<FakeTurn> {
    const before = fixture.turns.length;
    await fixture.api.gateway.receive({
      id: `elsewhere-${(messages += 1)}`,
      channel: 'telegram',
      chatId,
      senderId: chatId,
      content,
      timestamp: Date.now(),
      media: [],
      place: 'private',
      mentioned: true,
    });
    await vi.waitFor(() => expect(fixture.turns.length).toBe(before + 1), WAIT);
    return fixture.turns[before]!;
  }

  function requestApproval(turn: FakeTurn, id: string, command = 'rm -rf far-away'): void {
    fixture.api.gateway.pendingApprovals = [
      ...fixture.api.gateway.pendingApprovals,
      pendingApproval(turn, id, command),
    ];
    turn.emit({ type: 'approval_needed', approvalId: id });
  }

  function decide(turn: FakeTurn, id: string): void {
    fixture.api.gateway.pendingApprovals = fixture.api.gateway.pendingApprovals.filter(
      (one) => one.id !== id,
    );
    turn.emit({ type: 'approval_decided', approvalId: id, decision: 'denied' });
  }

  const button = (name: string | RegExp): Locator => tab.page.getByRole('button', { name });

  it.each<[string, BrowserContextOptions, string, string, string]>([
    [
      'in English',
      { locale: 'en-GB' },
      'Decision needed in “clean up”',
      'Show the list of chats: 1 decision is waiting',
      'Waiting for you',
    ],
    [
      'in German',
      { locale: 'de-AT' },
      'Entscheidung nötig in „clean up“',
      'Liste der Chats zeigen: 1 Entscheidung steht aus',
      'Wartet auf dich',
    ],
  ])(
    'are one tap away on a phone, %s, and said by the menu button',
    async (_language, locale, line, menu, inbox) => {
      await fixture.open({ ...PHONE, ...locale });
      await tab.page.locator('#draft').waitFor();
      expect(await button(menu).count()).toBe(0);
      const turn = await askElsewhere('42', 'clean up');
      requestApproval(turn, 'far');
      await button(line).waitFor();
      await button(menu).waitFor();
      await expect.poll(() => tab.page.locator('#open-sidebar').innerText(), WAIT).toBe('1');
      for (const control of [button(line), button(menu)])
        expect(await heightOf(control)).toBeGreaterThanOrEqual(LEAST_PX);
      expect(await objections(tab.page)).toEqual([]);
      await tab.page.emulateMedia({ colorScheme: 'dark' });
      await tab.screenshot(`waiting-elsewhere-dark-${locale.locale}`);
      await tab.page.emulateMedia({ colorScheme: 'light' });
      await tab.screenshot(`waiting-elsewhere-light-${locale.locale}`);
      await button(line).click();
      await tab.page.getByRole('dialog', { name: inbox }).getByText('rm -rf far-away').waitFor();
      decide(turn, 'far');
      await button(line).waitFor({ state: 'hidden' });
      await vi.waitFor(async () => expect(await button(menu).count()).toBe(0), WAIT);
      expect(await tab.page.locator('#open-sidebar').innerText()).toBe('');
    },
  );

  it('are counted together when several chats wait, and a long name is cut at its end', async () => {
    await fixture.open(PHONE);
    requestApproval(await askElsewhere('42', LONG_NAME), 'first');
    const named = button(/^Decision needed in “Please tidy up/);
    await named.waitFor();
    expect(await heightOf(named)).toBeLessThan(2 * LEAST_PX);
    expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.viewport?.width);
    await tab.screenshot('waiting-elsewhere-long');
    const other = await askElsewhere('43', 'and mop');
    requestApproval(other, 'second');
    await button('2 decisions needed in other chats').waitFor();
    await button('Show the list of chats: 2 decisions are waiting').waitFor();
    requestApproval(other, 'third');
    await button('3 decisions needed in other chats').waitFor();
    expect(await objections(tab.page)).toEqual([]);
  });

  it('have the network’s name of a chat that the list does not hold', async () => {
    await fixture.open(PHONE);
    const turn = await askElsewhere('42', 'clean up');
    const { gateway } = fixture.api;
    const far = pendingApproval(turn, 'far', 'rm -rf far-away');
    gateway.pendingApprovals = [{ ...far, session: 'telegram:-1009', chatName: 'Garden' }];
    turn.emit({ type: 'approval_needed', approvalId: 'far' });
    await button('Decision needed in “Garden”').click();
    const heads = tab.page.getByRole('dialog', { name: 'Waiting for you' }).locator('.text-button');
    await expect.poll(() => heads.allInnerTexts(), WAIT).toEqual([expect.stringContaining('Garden')]);
    gateway.pendingApprovals = [{ ...far, id: 'further', session: 'telegram:-1010' }];
    turn.emit({ type: 'approval_needed', approvalId: 'further' });
    await expect.poll(() => heads.allInnerTexts(), WAIT).toEqual([expect.stringContaining('-1010')]);
  });

  it('are not said twice: neither of the open chat, nor where the list of chats is visible', async () => {
    await fixture.open(PHONE);
    const here = await fixture.ask('here');
    requestApproval(here, 'near', 'rm -rf near');
    await tab.page.locator('#approvals').getByText('rm -rf near').waitFor();
    await button('Show the list of chats: 1 decision is waiting').waitFor();
    expect(await button(/needed in/).count()).toBe(0);
    await button('Show the list of chats').click();
    await button('New chat').click();
    await button('Decision needed in “here”').waitFor();
    await tab.page.setViewportSize({ width: 1_100, height: 800 });
    await button('Waiting for you: 1').waitFor();
    expect(await button(/needed in/).count()).toBe(0);
  });

  it('are said by the menu button of the settings, too', async () => {
    await fixture.open(PHONE);
    const turn = await askElsewhere('42', 'clean up');
    await tab.page.evaluate(() => (location.hash = '#settings/tokens'));
    await tab.page.getByRole('heading', { name: 'New token' }).waitFor();
    requestApproval(turn, 'far');
    await button('Show the list of chats: 1 decision is waiting').waitFor();
    await tab.screenshot('waiting-elsewhere-settings');
    await tab.page.evaluate(() => (location.hash = '#settings/overview'));
    await tab.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await button('Show the list of chats: 1 decision is waiting').count()).toBe(1);
    decide(turn, 'far');
    await vi.waitFor(async () => expect(await button(/is waiting$/).count()).toBe(0), WAIT);
  });
});
