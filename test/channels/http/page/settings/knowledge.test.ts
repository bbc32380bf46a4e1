/** The screen about documents: what is there and wrong with it, an upload, an address, and the end of a source. */
import { expect, it } from 'vitest';
import type { KnowledgeOffer, KnowledgeSource } from '../../../../../src/protocol/knowledge.ts';
import { storedText, textRef } from '../../../../../src/protocol/texts/say.ts';
import { objections } from '../browser/axe.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

const HANDBOOKS: KnowledgeSource = {
  id: 's1',
  scope: 'profile/default',
  kind: 'folder',
  location: '/srv/handbooks',
  state: 'ready',
  documents: 12,
  failed: 1,
  passages: 240,
  vectors: 200,
  createdAt: new Date(0),
  notice: storedText(textRef('knowledge.first_files', { most: 5_000, count: 9_000 })),
};

describePageOnFakeGateway('the settings of knowledge', (tab, fixture) => {
  it('shows sources with what is wrong, takes uploads and addresses, and removes', async () => {
    const { gateway } = fixture.api;
    const offers: KnowledgeOffer[] = [];
    let sources = [HANDBOOKS];
    gateway.knowledge = {
      ...gateway.knowledge,
      list: async () => ({ sources, search: { model: 'bge-m3', isSet: false } }),
      documents: async () => ({
        source: HANDBOOKS,
        documents: [
          {
            id: 'd1',
            name: 'broken.pdf',
            title: 'broken.pdf',
            version: '',
            bytes: 1,
            passages: 0,
            problem: 'It is protected by a password.',
            updatedAt: new Date(0),
          },
        ],
      }),
      add: async (offer) => {
        offers.push(offer);
        return HANDBOOKS;
      },
      remove: async (id) => {
        sources = sources.filter((source) => source.id !== id);
        return true;
      },
    };
    const page = await fixture.open();
    await page.goto(`${fixture.api.url}/#settings/knowledge`);
    const screen = page.locator('[data-screen="knowledge"]');
    await expect.poll(() => screen.innerText(), WAIT).toContain('12 documents, 240 passages');
    const text = await screen.innerText();
    expect(text).toContain('with bge-m3, by meaning');
    expect(text).toContain('Only the first 5000 of 9000 files are read');
    await page.getByRole('button', { name: 'Documents: /srv/handbooks' }).click();
    await expect.poll(() => screen.innerText(), WAIT).toContain('protected by a password');
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('knowledge');
    await screen.locator('input[type=file]').setInputFiles({
      name: 'menu.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('Soup on Monday'),
    });
    const upload = screen.locator('form', { has: page.locator('input[type=file]') });
    await upload.getByLabel('Profile or chat').fill('kitchen');
    await upload.getByRole('button', { name: 'Upload' }).click();
    await expect.poll(() => offers.length, WAIT).toBe(1);
    expect(offers[0]?.scope).toBe('profile/kitchen');
    expect(Buffer.from(offers[0]?.upload?.bytes ?? []).toString()).toBe('Soup on Monday');
    const address = screen.locator('form', { has: page.locator('input[type=url]') });
    await address.locator('input[type=url]').fill('https://example.org/menu');
    await address.getByLabel('For').selectOption('chat');
    await address.getByLabel('Profile or chat').fill('telegram:42');
    await address.getByRole('button', { name: 'Add' }).click();
    await expect.poll(() => offers.length, WAIT).toBe(2);
    expect(offers[1]).toEqual({ scope: 'chat/telegram:42', url: 'https://example.org/menu' });
    await page.getByRole('button', { name: 'Delete: /srv/handbooks' }).click();
    await page.locator('#confirm').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => screen.innerText(), WAIT).toContain('No documents yet');
  });
});
