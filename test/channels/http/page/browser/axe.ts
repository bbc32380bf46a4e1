/** What axe finds on the page in its current state, on wide screens and phones, light and dark. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDE = { width: 1_100, height: 800 };
const NARROW = { width: 390, height: 780 };

/** What shuts people out or leads them astray (critical, serious and moderate), as `look: rule: element`; the page is left as it was opened. */
export async function objections(page: Page): Promise<string[]> {
  const size = page.viewportSize() ?? WIDE;
  const found: string[] = [];
  for (const viewport of [WIDE, NARROW]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const look = `${viewport === WIDE ? 'wide' : 'phone'} ${colorScheme}`;
      found.push(...(await objectionsAsItIs(page)).map((one) => `${look}: ${one}`));
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(size);
  return found;
}

/** The same for the page's current look. */
export async function objectionsAsItIs(page: Page): Promise<string[]> {
  // The page's own policy blocks other scripts; the test's commands are not bound by it.
  await page.evaluate(AXE);
  // Colors fade when elements are hovered or change their state.
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter((one) => one instanceof CSSTransition).map((one) => one.finished.catch(() => undefined)))`);
  const results: AxeResults = await page.evaluate(`axe.run({ resultTypes: ['violations'] })`);
  return results.violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious' || impact === 'moderate')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
