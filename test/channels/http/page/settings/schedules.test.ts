/** The list of schedules on the page, in a real browser. */
import { expect, it, vi } from 'vitest';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

const OWNER = { tokenId: 'admin', scopes: ['admin' as const, 'chat' as const] };

describePageOnFakeGateway('schedules on the page', (tab, fixture) => {
  it('are listed with their timing, open their chat, and are removed after a confirmation', async () => {
    const { api } = fixture;
    const session = 'http:news' as const;
    api.gateway.addSession(session, 'admin');
    const task = 'Tell me what is new in the world';
    await api.gateway.schedules.add(OWNER, { id: 's1', session, task, when: { everyMinutes: 120 } });
    const page = await fixture.open();
    await page.getByText('Schedules').click();
    const list = page.locator('#schedule-list');
    await list.getByText(task).waitFor();
    await tab.screenshot('schedules');
    await list.getByText(task).click();
    await vi.waitFor(() => expect(page.url()).toContain(session), WAIT);
    await list.getByRole('button', { name: `Delete the schedule “${task}”` }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Schedules').waitFor({ state: 'hidden' });
    expect(await api.gateway.schedules.list(OWNER)).toEqual([]);
  });
});
