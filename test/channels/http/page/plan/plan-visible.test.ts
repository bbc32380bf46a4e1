/** A running plan on a phone and on a desktop: its buttons stay visible, however much work is listed below it. */
import { expect, it } from 'vitest';
import { plan, withStatus } from '../../../../fakes/gateway/shown-plans.ts';
import { WAIT } from '../browser/browser.ts';
import { PHONE, describePageOnFakeGateway } from '../browser/describe-page.ts';

describePageOnFakeGateway('a plan that runs', (tab, fixture) => {
  it.each([
    ['agentic', 'Pause', 'a phone', PHONE],
    ['agentic', 'Pause', 'a desktop', {}],
    ['planner', 'Stop', 'a phone', PHONE],
    ['planner', 'Stop', 'a desktop', {}],
  ] as const)(
    'keeps its step and %s buttons (%s) in view on %s, above the work that grows below it',
    async (mode, name, _, screen) => {
      await fixture.open(screen);
      const turn = await fixture.ask('plan it');
      turn.follow(withStatus(plan(8, { mode }), 0, 'running'));
      await tab.page.getByRole('group', { name: /^Plan/ }).waitFor();
      const line = tab.page.getByRole('region', { name: 'The running plan' });
      expect(await line.isVisible()).toBe(false);
      const pause = line.getByRole('button', { name });
      for (let call = 0; call < 30; call += 1) {
        const id = turn.tool('list_dir', { path: `folder-${call}` });
        turn.result(id, 'list_dir', 'nothing');
      }
      await tab.page.locator('.tool summary', { hasText: 'folder-29' }).waitFor();
      await pause.waitFor();
      await expect.poll(() => line.innerText(), WAIT).toContain('Step 1 of 8');
      await tab.screenshot(`plan-visible-${mode}-${screen === PHONE ? 'phone' : 'desktop'}`);
      const seen = await pause.evaluate((button) => {
        const { top, bottom } = button.getBoundingClientRect();
        const at = document.elementFromPoint(button.getBoundingClientRect().left + 5, (top + bottom) / 2);
        return button.contains(at);
      });
      expect(seen).toBe(true);
    },
  );
});
