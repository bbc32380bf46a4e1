/** The language of the page and of a token: chosen, stored in the browser, or sent by the browser; over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openApi, type OpenApi } from '../client.ts';

let api: OpenApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const german = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' };
/** The page, as a browser with these headers gets it. */
const pageWith = async (headers: Record<string, string>): Promise<string> =>
  await (await fetch(`${api.url}/`, { headers })).text();
const languageOf = (html: string): string | undefined => /<html lang="([\w-]+)">/.exec(html)?.[1];
const scriptOf = (html: string): string => /src="(\/page\/assets\/main-\w+\.js)"/.exec(html)?.[1] ?? '';

describe('the page', () => {
  it('is in the language that the browser sends, else in English', async () => {
    const html = await pageWith(german);
    expect([languageOf(html), languageOf(await pageWith({}))]).toEqual(['de', 'en']);
    expect(html).toContain('braucht JavaScript');
    expect(html).not.toContain('{{');
    expect(languageOf(await pageWith({ 'accept-language': 'fr' }))).toBe('en');
  });

  it('is in the language that was chosen in the browser, if there is one with that code', async () => {
    const chosen = (code: string): Promise<string> =>
      pageWith({ ...german, cookie: `other=1; parley_language=${code}` });
    expect(languageOf(await chosen('en'))).toBe('en');
    for (const code of ['nl', '"><script>', '../../en', 'e'])
      expect(languageOf(await chosen(code))).toBe('de');
  });

  it('links a script that starts with the texts of its language, whoever requests it', async () => {
    const [inGerman, inEnglish] = [scriptOf(await pageWith(german)), scriptOf(await pageWith({}))];
    expect(inGerman).not.toBe(inEnglish);
    for (const [script, text] of [
      [inGerman, 'Auf diesem Gerät angemeldet bleiben'],
      [inEnglish, 'New chat'],
    ] as const) {
      const response = await fetch(api.url + script);
      expect(response.headers.get('cache-control')).toContain('immutable');
      const code = await response.text();
      expect(code.startsWith('globalThis.parleyTexts={')).toBe(true);
      expect(code).toContain(text);
    }
  });

  it('is a separate one for caches in each language, and so is the manifest', async () => {
    for (const path of ['/', '/page/manifest.webmanifest']) {
      const [one, other] = await Promise.all([
        fetch(api.url + path, { headers: german }),
        fetch(api.url + path, { headers: { 'accept-language': 'en' } }),
      ]);
      expect(one.headers.get('vary')).toBe('Accept-Encoding, Accept-Language, Cookie');
      expect(one.headers.get('etag')).not.toBe(other.headers.get('etag'));
    }
    const manifest = await fetch(`${api.url}/page/manifest.webmanifest`, { headers: german });
    expect(await manifest.json()).toMatchObject({
      lang: 'de',
      description: 'Chattet mit den Modellen hinter diesem Gateway.',
    });
  });
});

describe('the language of a token', () => {
  const read = async (): Promise<unknown> =>
    await (await api.call('/v1/language', { headers: german })).json();
  const choose = (language: string): Promise<Response> =>
    api.call('/v1/language', { method: 'PATCH', headers: german, json: { language } });

  it('is what its client sends, until one is chosen, and again after the choice is removed', async () => {
    const languages = ['en', 'de'];
    expect(await read()).toEqual({ language: 'de', chosen: false, languages });
    expect(await (await choose('en')).json()).toEqual({ language: 'en', chosen: true, languages });
    expect(await read()).toEqual({ language: 'en', chosen: true, languages });
    expect(await (await choose('auto')).json()).toEqual({ language: 'de', chosen: false, languages });
  });

  it('cannot be one that does not exist', async () => {
    const refused = await choose('nl');
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'unknown_language', param: 'language' } });
    expect(await read()).toMatchObject({ chosen: false });
  });

  it('is the one in which plans are described', async () => {
    api.gateway.actOnPlan = async (_caller, _id, _action, _step, say) => ({
      done: true,
      text: say?.('plan.stopped') ?? '',
    });
    const answer = await api.call('/v1/plans/p1/stop', { method: 'POST', headers: german });
    expect(await answer.json()).toMatchObject({ text: 'Der Plan ist beendet.' });
  });
});
