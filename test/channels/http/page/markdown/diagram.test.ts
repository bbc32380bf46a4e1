/** Diagrams in Mermaid: drawn in a frame that is shut in, and code where that fails. */
import { expect, it } from 'vitest';
import { MAX_DIAGRAM } from '../../../../../channels/http/page/markdown/diagram.tsx';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

const FLOW = 'graph TD\n  A[Start] --> B{Works?}\n  B -->|yes| C[Done]\n  B -->|no| A';

describePageOnFakeGateway('a diagram', (tab, fixture) => {
  const answer = async (text: string): Promise<void> => {
    const turn = await fixture.ask('well?');
    turn.say(text);
    turn.end();
    await tab.page.locator('.turn-foot time').last().waitFor();
  };

  it('is drawn once its answer is complete, and its code can be shown and copied', async () => {
    await fixture.open();
    const turn = await fixture.ask('well?');
    turn.say(`\`\`\`mermaid\n${FLOW}\n`);
    await tab.page.getByText('graph TD').waitFor();
    expect(await tab.page.locator('iframe').count()).toBe(0);
    turn.say('```');
    turn.end();
    const frame = tab.page.frameLocator('iframe.diagram');
    await frame.locator('svg').getByText('Works?').waitFor();
    await expect.poll(() => tab.page.locator('.code pre').isVisible(), WAIT).toBe(false);
    expect(await tab.page.locator('iframe').evaluate((element) => element.clientHeight)).toBeGreaterThan(100);
    await tab.screenshot('diagram');
    await tab.page.getByRole('button', { name: 'Code', exact: true }).click();
    expect(await tab.page.locator('.code pre').innerText()).toContain('A[Start]');
    expect(await tab.page.getByRole('button', { name: 'Copy the code' }).isVisible()).toBe(true);
  });

  it('can reach neither the page nor any server from its frame', async () => {
    await fixture.open();
    await answer(`\`\`\`mermaid\n${FLOW}\n\`\`\``);
    await tab.page.frameLocator('iframe.diagram').locator('svg').waitFor();
    const frame = tab.page.frames().find((one) => one.url().endsWith('/page/diagram.html'));
    const reached = await frame?.evaluate(async () => {
      const tried = async (act: () => unknown): Promise<string> => {
        try {
          await act();
          return 'reached';
        } catch (error) {
          return error instanceof Error ? error.name : 'refused';
        }
      };
      return [origin, await tried(() => localStorage.length), await tried(() => parent.document.title)];
    });
    expect(reached).toEqual(['null', 'SecurityError', 'SecurityError']);
    const { headers } = await fetch(`${fixture.api.url}/page/diagram.html`);
    const policy = headers.get('content-security-policy');
    // Requests, pictures and fonts need a permission of their own.
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'/,
    );
    expect(policy).toMatch(/; sandbox allow-scripts$/);
  });

  it('stays code when it is none, or too long', async () => {
    await fixture.open();
    const long = `graph TD\n${'%% x\n'.repeat(MAX_DIAGRAM / 5)}`;
    await answer(`\`\`\`mermaid\n${long}\n\`\`\`\n\n\`\`\`mermaid\nnonsense here\n\`\`\``);
    await expect.poll(() => tab.page.locator('iframe').count(), WAIT).toBe(0);
    expect(await tab.page.locator('.code pre').last().isVisible()).toBe(true);
    expect(await tab.page.locator('.code pre').last().innerText()).toBe('nonsense here');
  });
});
