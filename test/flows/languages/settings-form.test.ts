/** The form of the settings in the language of its reader: in German, and with what a language file says. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { channels } from '../../../channels/index.ts';
import { fileSchemaFor } from '../../../src/config-schema.ts';
import { descriptionsOf, jsonSchema } from '../../../src/settings/index.ts';
import { objections } from '../../channels/http/page/browser/axe.ts';
import { describePage, type OpenOptions, PHONE } from '../../channels/http/page/browser/describe-page.ts';
import { goToScreen, openFurnishedGateway } from '../operator/settings-setup.ts';
import { type GatewayFixture, OWNER, WAIT } from '../setup.ts';

const english = descriptionsOf(jsonSchema(fileSchemaFor(channels)));

describePage('the form of the settings', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  /** Opens the form with all its groups and lists; returns its texts, line by line. */
  async function formIn(options: OpenOptions): Promise<string[]> {
    const page = await tab.open(fixture.gateway.url, { ...options, token: OWNER });
    await page.locator('#transcript').waitFor();
    await goToScreen(page, 'configuration');
    return await page.evaluate(() => {
      for (const details of document.querySelectorAll('.config-form details'))
        details.setAttribute('open', '');
      const told = [...document.querySelectorAll('.config-group summary, .config-group p, .config-group dd')];
      return told.map((element) => element.textContent);
    });
  }
  const inEnglish = (shown: readonly string[]): string[] =>
    [...english].filter(([, text]) => shown.includes(text.replaceAll('`', ''))).map(([name]) => name);

  it.each([
    ['desktop', { locale: 'de-AT' }],
    ['phone', { ...PHONE, locale: 'de-AT' }],
  ])('is German for a German browser, on a %s, and fits the screen', async (screen, options) => {
    const shown = await formIn(options);
    expect(shown).toContain('Grenzen limits');
    expect(shown).toContain('Nachrichten, die ein Token in der Minute schicken darf');
    expect(shown).toContain('Felder eines Eintrags');
    expect(shown).toContain('Art des Servers: ollama, oder openai für jeden, der OpenAIs API spricht');
    expect(inEnglish(shown)).toEqual([]);
    const isWide = await tab.page
      .locator('.settings-body')
      .evaluate((body) => body.scrollWidth > body.clientWidth + 1);
    expect(isWide).toBe(false);
    expect(await objections(tab.page)).toEqual([]);
    for (const group of ['limits', 'providers', 'channels']) {
      await tab.page
        .locator('.config-group summary')
        .getByText(group, { exact: true })
        .scrollIntoViewIfNeeded();
      await tab.screenshot(`settings-form-${screen}-${group}`);
    }
  });

  it('names in German each field that cannot be saved, and in English to an English browser', async () => {
    const errorsIn = async (locale: string, save: string): Promise<string[]> => {
      await formIn({ locale });
      await tab.page.getByLabel('limits.messagesPerMinute', { exact: true }).fill('0');
      await tab.page.getByLabel('limits.messagesAtOnce', { exact: true }).fill('1.5');
      await tab.page.getByRole('button', { name: save, exact: true }).click();
      const alert = tab.page.locator('.settings-errors');
      await alert.getByText('limits.messagesAtOnce').waitFor();
      return (await alert.innerText()).split('\n').map((line) => line.replace(/^.*config\.json\S*: /, ''));
    };
    expect(await errorsIn('de-AT', 'Speichern')).toEqual([
      'Nichts wurde geändert:',
      'limits.messagesPerMinute: muss mindestens 1 sein',
      'limits.messagesAtOnce: muss eine ganze Zahl sein',
    ]);
    expect(await errorsIn('en-GB', 'Save')).toEqual([
      'Nothing was changed:',
      'limits.messagesPerMinute: must be at least 1',
      'limits.messagesAtOnce: must be a whole number',
    ]);
  });

  it('shows every setting in English to an English browser', async () => {
    const shown = await formIn({ locale: 'en-GB' });
    const hidden = new Set(['$schema']);
    const missing = [...english.keys()].filter((name) => !inEnglish(shown).includes(name));
    expect(missing.filter((name) => !hidden.has(name))).toEqual([]);
  });

  it('shows what the file of a language says, and English if that says nothing', async () => {
    const folder = path.join(fixture.home, 'languages');
    await mkdir(folder, { recursive: true });
    const texts = {
      'setting.limits.messagesAtOnce': 'dont d’un coup',
      'setting.access.*.allow': 'sans code',
    };
    await writeFile(path.join(folder, 'fr.json'), JSON.stringify(texts));
    await vi.waitFor(async () => {
      const answer = await fixture.call('/v1/language');
      expect(await answer.json()).toMatchObject({ languages: ['en', 'de', 'fr'] });
    }, WAIT);
    const shown = await formIn({ locale: 'fr-FR' });
    expect(shown.filter((text) => text === 'sans code')).toHaveLength(4);
    expect(shown).toContain('dont d’un coup');
    expect(inEnglish(shown)).toContain('limits.messagesPerMinute');
  });
});
