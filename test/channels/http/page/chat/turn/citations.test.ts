/** What an answer cites, on the page: a number that opens its passage, and one that was made up and stays text. */
import { expect, it } from 'vitest';
import type { OpenedCitation } from '../../../../../../src/protocol/knowledge.ts';
import { objections } from '../../browser/axe.ts';
import { WAIT, write } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

const HOTELS: OpenedCitation = {
  number: 1,
  documentId: 'd1',
  title: 'travel.pdf',
  place: { page: 3 },
  content: 'A night in London may cost 210 euros.',
  state: 'same',
  before: ['Book two weeks ahead.'],
  after: ['Trains are second class.'],
};

describePageOnFakeGateway('what an answer cites', (tab, fixture) => {
  it('opens the passage, marked in its document, and leaves a made-up number as text', async () => {
    const page = await fixture.open();
    const { gateway } = fixture.api;
    gateway.knowledge = {
      ...gateway.knowledge,
      citations: async () => [HOTELS],
      citation: async () => HOTELS,
    };
    gateway.script = (turn) => {
      turn.say('Up to 210 euros [k1], never 999 [k7].');
      turn.end();
    };
    await write(page, 'What may a hotel cost?');
    const mark = page.getByRole('button', { name: 'Open source 1: travel.pdf, page 3' });
    await mark.waitFor();
    await expect.poll(() => page.locator('.answer').innerText(), WAIT).toContain('never 999 [k7].');
    await mark.click();
    const dialog = page.getByRole('dialog', { name: 'Source 1: travel.pdf, page 3' });
    await expect.poll(() => dialog.locator('mark').innerText(), WAIT).toBe(HOTELS.content);
    expect(await dialog.innerText()).toContain('Trains are second class.');
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('citation');
  });

  it('says that the document has changed since', async () => {
    const page = await fixture.open();
    const { gateway } = fixture.api;
    gateway.knowledge = {
      ...gateway.knowledge,
      citations: async () => [HOTELS],
      citation: async () => ({ ...HOTELS, state: 'changed', before: [], after: [] }),
    };
    gateway.script = (turn) => {
      turn.say('It was 210 euros [k1].');
      turn.end();
    };
    await write(page, 'And before?');
    await page.getByRole('button', { name: /Open source 1/ }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.innerText(), WAIT).toContain('has changed since');
  });
});
