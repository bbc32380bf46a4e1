/** A running plan on a phone and on a desktop: its buttons stay visible, however much work stands below it. */
import { expect, it } from 'vitest';
import { plan, withStatus } from '../../fakes/gateway/shown-plans.ts';
import { PHONE, describePageOnFakeGateway } from '../describe-page.ts';

describePageOnFakeGateway('a plan that runs', (tab, fixture) => {
  it.each([
    ['a phone', PHONE],
    ['a desktop', {}],
  ])('keeps its buttons visible on %s, above the work that grows below it', async (_, screen) => {
    await fixture.open(screen);
    const turn = await fixture.ask('plan it');
    turn.follow(withStatus(plan(8, { mode: 'agentic' }), 0, 'running'));
    const pause = tab.page.getByRole('region', { name: 'Plan' }).getByRole('button', { name: 'Pause' });
    await pause.waitFor();
    for (let call = 0; call < 30; call += 1) {
      const id = turn.tool('list_dir', { path: `folder-${call}` });
      turn.result(id, 'list_dir', 'nothing');
    }
    await tab.page.locator('.tool summary', { hasText: 'folder-29' }).waitFor();
    await tab.screenshot(`plan-visible-${screen === PHONE ? 'phone' : 'desktop'}`);
    const seen = await pause.evaluate((button) => {
      const { top, bottom } = button.getBoundingClientRect();
      const at = document.elementFromPoint(button.getBoundingClientRect().left + 5, (top + bottom) / 2);
      return button.contains(at);
    });
    expect(seen).toBe(true);
  });
});
