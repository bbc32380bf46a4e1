/** The form of the settings in the language of its reader: in German, and with what a language file says. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { channels } from '../../../channels/index.ts';
import { fileSchemaFor } from '../../../src/config-schema.ts';
import { descriptionsOf, jsonSchema } from '../../../src/settings/index.ts';
import { objections } from '../../channels/http/page/browser/axe.ts';
import { describePage, type OpenOptions, PHONE } from '../../channels/http/page/browser/describe-page.ts';
import { goToScreen, openFurnishedGateway } from '../operator/settings/setup.ts';
import { type GatewayFixture, OWNER, WAIT } from '../setup.ts';

/** The screens with settings of `config.json`. */
const FORMS = [
  'general',
  'models',
  'profiles',
  'access',
  'tools',
  'rules',
  'schedules',
  'webhooks',
  'memory',
  'storage',
  ...channels.map(({ name }) => `channels/${name}`),
];
const english = descriptionsOf(jsonSchema(fileSchemaFor(channels)));

describePage('the form of the settings', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  /** Opens every screen that has settings, with what entries may have; returns the texts, line by line. */
  async function formsIn(options: OpenOptions): Promise<string[]> {
    const page = await tab.open(fixture.gateway.url, { ...options, token: OWNER });
    await page.locator('#transcript').waitFor();
    const shown: string[] = [];
    for (const screen of FORMS) {
      await goToScreen(page, screen);
      await page.locator('.setting').first().waitFor();
      shown.push(
        ...(await page.evaluate(() => {
          for (const details of document.querySelectorAll('.config-form details'))
            details.setAttribute('open', '');
          const texts = [
            ...document.querySelectorAll(
              '.config-form .quiet, .setting label, .setting summary, .setting p, .setting dd',
            ),
          ];
          return texts.map((element) => element.textContent);
        })),
      );
    }
    return shown;
  }
  const sentence = (text: string): string =>
    (text.slice(0, 1).toUpperCase() + text.slice(1)).replaceAll('`', '');
  const inEnglish = (shown: readonly string[]): string[] =>
    [...english].filter(([, text]) => shown.includes(sentence(text))).map(([name]) => name);

  it.each([
    ['desktop', { locale: 'de-AT' }],
    ['phone', { ...PHONE, locale: 'de-AT' }],
  ])('is German for a German browser, on a %s, and fits the screen', async (screen, options) => {
    const shown = await formsIn(options);
    expect(shown).toContain('Nachrichten je Minute und Person');
    expect(shown).toContain('Nachrichten, die ein Token in der Minute schicken darf');
    expect(shown).toContain('Felder eines Eintrags');
    expect(shown).toContain('Art des Servers: ollama, oder openai für jeden, der OpenAIs API spricht');
    expect(inEnglish(shown)).toEqual([]);
    for (const name of ['general', 'models', 'channels/http']) {
      await goToScreen(tab.page, name);
      await tab.page.locator('.setting').first().waitFor();
      const isWide = await tab.page
        .locator('.settings-body')
        .evaluate((body) => body.scrollWidth > body.clientWidth + 1);
      expect([name, isWide]).toEqual([name, false]);
      expect(await objections(tab.page)).toEqual([]);
      await tab.screenshot(`settings-form-${screen}-${name.replace('/', '-')}`);
    }
  });

  it('says at each field why it cannot be saved, in German and to an English browser in English', async () => {
    const errorsIn = async (locale: string, save: string): Promise<string[]> => {
      const page = await tab.open(fixture.gateway.url, { locale, token: OWNER });
      await page.locator('#transcript').waitFor();
      await goToScreen(page, 'general');
      await page.locator('[id="set-limits.messagesPerMinute"]').fill('0');
      await page.locator('[id="set-limits.messagesAtOnce"]').fill('1.5');
      await page.getByRole('button', { name: save, exact: true }).click();
      const errors = page.locator('.setting .error-text');
      await errors.last().waitFor();
      return await errors.allInnerTexts();
    };
    expect(await errorsIn('de-AT', 'Speichern')).toEqual([
      'muss mindestens 1 sein',
      'muss eine ganze Zahl sein',
    ]);
    expect(await errorsIn('en-GB', 'Save')).toEqual(['must be at least 1', 'must be a whole number']);
  });

  it('shows every setting in English to an English browser', async () => {
    const shown = await formsIn({ locale: 'en-GB' });
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
    const shown = await formsIn({ locale: 'fr-FR' });
    expect(shown.filter((text) => text === 'Sans code')).toHaveLength(4);
    expect(shown).toContain('Dont d’un coup');
    expect(inEnglish(shown)).toContain('limits.messagesPerMinute');
  });
});
