/**
 * An approval requested in a Telegram chat by a process that is then killed, decided on the page: it counts for every
 * channel, and the call runs once.
 */
import { expect, it, vi } from 'vitest';
import { killedWhileAsking } from '../../../../../flows/approvals/asking-gateway.ts';
import { OWNER } from '../../../../../flows/setup.ts';
import { WAIT } from '../../browser/browser.ts';
import { describePage } from '../../browser/describe-page.ts';

describePage('an approval whose process was killed', (tab) => {
  it('requested on Telegram is decided on the page: the call runs once, Telegram shows it, a second decision is refused (S-45)', async () => {
    const { gateway, api, id, chat, telegram, effects, shows, press } = await killedWhileAsking();
    expect([...effects.counts().values()]).toEqual([]);
    const page = await tab.open(await gateway.url(), { token: OWNER });
    await page.getByRole('navigation', { name: 'Your chats' }).getByText('do it').click();
    const card = page.getByRole('group', { name: 'Approval of unsafe_probe' });
    await card.getByText('word once').waitFor();
    await tab.screenshot('approval-of-telegram');
    await card.getByRole('button', { name: 'Approve' }).click();
    await card.waitFor({ state: 'detached' });
    await page.locator('.md', { hasText: 'echo: do it' }).waitFor();
    await tab.screenshot('approval-decided');
    await shows(/Approved by GATEWAY_TOKEN/);
    await shows(/echo: do it/);
    await vi.waitFor(
      () => expect(telegram.messages(chat).flatMap(({ buttons }) => buttons)).toEqual([]),
      WAIT,
    );
    expect([...effects.counts().values()]).toEqual([1]);

    expect(await press(`approve:${id}`)).toContain('already');
    const again = await api(`/v1/approvals/${id}`, { decision: 'approved' });
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({
      error: { code: 'already_decided', message: 'This was approved before; nothing changed.' },
    });
    await page.reload();
    await page.locator('.md', { hasText: 'echo: do it' }).waitFor();
    await vi.waitFor(async () => expect(await page.locator('.approval').count()).toBe(0), WAIT);
    expect([...effects.counts().values()]).toEqual([1]);
  }, 240_000);
});
