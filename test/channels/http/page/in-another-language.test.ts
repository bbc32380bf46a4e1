/**
 * The page in German, in a real browser: from the sign-in to the card of a plan, and choosing another language without
 * losing a draft.
 */
import { expect, it, vi } from 'vitest';
import { ENGLISH } from '../../../../src/protocol/texts/english.ts';
import GERMAN from '../../../../src/settings/languages/de.json' with { type: 'json' };
import { plan } from '../../../fakes/gateway/shown-plans.ts';
import { objections } from './browser/axe.ts';
import { chooseFromAccount, WAIT } from './browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from './browser/describe-page.ts';

const GERMAN_BROWSER = { locale: 'de-AT' };
const inGerman = new Set<unknown>(Object.values(GERMAN));
/** What the page says in English and differently in German; long enough not to be a word of another text. */
const sentences = Object.entries<unknown>(ENGLISH)
  .filter(([key]) => key.startsWith('page.'))
  .flatMap(([, text]) => (typeof text === 'string' ? [text] : Object.values(text as object)))
  .filter((text) => typeof text === 'string')
  .filter((text) => text.length > 5 && !/[{`]/.test(text) && !inGerman.has(text));

describePageOnFakeGateway('the page of a German browser', (tab, fixture) => {
  /** English texts that are shown, or announced to screen readers. */
  const englishShown = async (): Promise<string[]> => {
    const shown = await tab.page.evaluate(() => {
      const attributes = ['aria-label', 'title', 'placeholder'];
      const inAttributes = [...document.querySelectorAll('*')].flatMap((element) =>
        attributes.map((name) => element.getAttribute(name) ?? ''),
      );
      return [...document.body.innerText.split('\n'), ...inAttributes].map((line) => line.trim());
    });
    return sentences.filter((text) => shown.includes(text));
  };
  const signIn = async (): Promise<void> => {
    await tab.page.getByLabel('Token').fill(TOKEN);
    await tab.page.getByRole('button', { name: 'Anmelden' }).click();
    await tab.page.getByRole('button', { name: 'Neuer Chat' }).waitFor();
  };
  const ask = async (text: string) => {
    const before = fixture.turns.length;
    await tab.page.getByLabel('Nachricht', { exact: true }).fill(text);
    await tab.page.keyboard.press('Enter');
    await vi.waitFor(() => expect(fixture.turns.length).toBe(before + 1), WAIT);
    await vi.waitFor(
      () =>
        expect([...fixture.api.gateway.events.listeners.values()].some((one) => one.sessionKey)).toBe(true),
      WAIT,
    );
    return fixture.turns[before]!;
  };

  it('speaks German at the sign-in, and explains in German what is wrong', async () => {
    await tab.open(fixture.api.url, GERMAN_BROWSER);
    await tab.page.getByText('Öffne den Link, den npx parley open ausgibt').waitFor();
    expect(await tab.page.locator('html').getAttribute('lang')).toBe('de');
    expect(await objections(tab.page)).toEqual([]);
    await tab.page.route('**/v1/**', (route) => route.abort());
    await tab.page.getByLabel('Token').fill(TOKEN);
    await tab.page.getByRole('button', { name: 'Anmelden' }).click();
    await tab.page.getByText('Das Gateway ist nicht erreichbar.').waitFor();
    expect(await englishShown()).toEqual([]);
  });

  it('shows thinking, tools, plans, errors, keys and settings in German', async () => {
    await tab.open(fixture.api.url, GERMAN_BROWSER);
    await signIn();
    await tab.page.getByText('Worüber möchtest du sprechen?').waitFor();
    expect(await objections(tab.page)).toEqual([]);

    const turn = await ask('Was liegt hier?');
    turn.think('Hm.');
    const call = turn.tool('list_dir', { path: '.' });
    const tool = tab.page.locator('.tool');
    await tool.getByText('läuft …').waitFor();
    turn.result(call, 'list_dir', 'drei Dateien');
    await tool.getByText('fertig').waitFor();
    await tool.locator('summary').click();
    await tool.getByText('Argumente').waitFor();
    await tool.getByText('Ergebnis').waitFor();
    turn.follow({ ...plan(3, { mode: 'agentic' }), state: 'stored' });
    const panel = tab.page.getByRole('group', { name: /^Plan/ });
    await panel.getByText('nicht begonnen').waitFor();
    await expect
      .poll(() => panel.locator('.plan-buttons').getByRole('button').allInnerTexts(), WAIT)
      .toEqual(['Ausführen', 'Schritt für Schritt', 'Ändern', 'Verwerfen']);
    await panel.getByText('0 von 3').waitFor();
    turn.say('Drei.');
    turn.end();
    await tab.page.getByRole('button', { name: 'Noch einmal antworten' }).waitFor();
    await tab.screenshot('german');
    expect(await objections(tab.page)).toEqual([]);
    expect(await englishShown()).toEqual([]);

    await chooseFromAccount(tab.page, 'show-keys');
    await tab.page.getByText('eine neue Zeile beginnen').waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.page.evaluate(() => (location.hash = '#settings/tokens'));
    await tab.page.getByRole('heading', { name: 'Neues Token' }).waitFor();
    expect(await objections(tab.page)).toEqual([]);
    expect(await englishShown()).toEqual([]);
  });

  it('switches as soon as another language is chosen, and keeps the draft', async () => {
    await tab.open(fixture.api.url, GERMAN_BROWSER);
    await signIn();
    await tab.page.getByRole('button', { name: 'Konto' }).click();
    const choice = tab.page.getByLabel('Sprache');
    await vi.waitFor(
      async () =>
        expect(await choice.locator('option').allInnerTexts()).toEqual(['Automatisch', 'English', 'Deutsch']),
      WAIT,
    );
    await tab.page.locator('#draft').fill('half a sentence');
    await choice.selectOption({ label: 'English' });
    await tab.page.getByRole('button', { name: 'New chat' }).waitFor();
    expect(await tab.page.locator('#draft').inputValue()).toBe('half a sentence');
    expect(await tab.page.locator('html').getAttribute('lang')).toBe('en');
    await tab.page.getByRole('button', { name: 'Account' }).click();
    const back = tab.page.getByLabel('Language');
    await vi.waitFor(async () => expect(await back.inputValue()).toBe('en'), WAIT);
    await back.selectOption({ label: 'Automatic' });
    await tab.page.getByRole('button', { name: 'Neuer Chat' }).waitFor();
  });

  it('follows a choice made elsewhere, even if the browser has none stored', async () => {
    await fixture.api.call('/v1/language', { method: 'PATCH', json: { language: 'en' } });
    await tab.open(fixture.api.url, GERMAN_BROWSER);
    await tab.page.getByLabel('Token').fill(TOKEN);
    await tab.page.getByRole('button', { name: 'Anmelden' }).click();
    await tab.page.getByRole('button', { name: 'New chat' }).waitFor();
    expect(await tab.page.locator('html').getAttribute('lang')).toBe('en');
  });
});
