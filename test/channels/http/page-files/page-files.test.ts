/**
 * The files of the page as browsers get them: few, joined, compressed, and cached permanently under the hash of their
 * bytes.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApi, type OpenApi } from '../client.ts';

const PAGE = new URL('../../../../channels/http/page/', import.meta.url);
const ADDRESSES = /\/page\/[\w./-]+\.\w+/g;
/** Compressed: the highlighting of a language is loaded on demand. */
const MAX_LANGUAGE_BYTES = 5_000;
const NO_HASH = '0'.repeat(16);

let api: OpenApi;
let html: string;
let linked: string[];
let script: string;
beforeAll(async () => {
  api = await openApi();
  html = await (await fetch(`${api.url}/`)).text();
  linked = [...new Set(html.match(ADDRESSES))];
  const first = linked.find((address) => address.includes('/main-')) ?? '';
  script = await (await fetch(api.url + first)).text();
});
afterAll(() => api.close());

it('links one script, one file with all styles and two images, besides the manifest', async () => {
  const names = linked.map((address) => address.replace(/-[0-9a-f]{16}\./, '.'));
  expect(names.toSorted()).toEqual([
    '/page/assets/icon-maskable.png',
    '/page/assets/icon.svg',
    '/page/assets/main.js',
    '/page/assets/styles.css',
    '/page/manifest.webmanifest',
  ]);
  const styles = await (await fetch(api.url + linked.find((address) => address.endsWith('.css')))).text();
  for (const name of readdirSync(new URL('styles/', PAGE)))
    expect(styles).toContain(readFileSync(new URL(`styles/${name}`, PAGE), 'utf8'));
});

it('lets browsers cache permanently what has the hash of its bytes in its address, and only that', async () => {
  const colours = /\/page\/assets\/code-colours-\w+\.js/.exec(script)?.[0] ?? '';
  const scripts = script + (await (await fetch(api.url + colours)).text());
  const later = [...new Set(scripts.match(ADDRESSES))].filter((address) => !address.endsWith('.html'));
  expect(later.some((address) => address.includes('/settings-'))).toBe(true);
  expect(later.some((address) => address.includes('/python.min-'))).toBe(true);
  const hashed = [...linked, ...later].filter((address) => address.startsWith('/page/assets/'));
  for (const address of hashed) {
    const response = await fetch(api.url + address);
    expect([address, response.status]).toEqual([address, 200]);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const hash = createHash('sha256')
      .update(Buffer.from(await response.arrayBuffer()))
      .digest('hex');
    expect(address).toContain(`-${hash.slice(0, 16)}.`);
  }
  const languages = later.filter((address) => /\.min-/.test(address) && !address.includes('/core.'));
  expect(languages.length).toBeGreaterThan(10);
  for (const address of languages) {
    const { headers } = await fetch(api.url + address);
    expect(Number(headers.get('content-length'))).toBeLessThan(MAX_LANGUAGE_BYTES);
  }
  for (const address of ['/', '/page/manifest.webmanifest']) {
    const { headers } = await fetch(api.url + address);
    expect(headers.get('cache-control')).toBe('no-cache');
    const etag = headers.get('etag') ?? '';
    const again = await fetch(api.url + address, { headers: { 'if-none-match': etag } });
    expect([etag.length > 20, again.status]).toEqual([true, 304]);
  }
});

it('gives every file the same policy, which lets only files of this server run, and the early script of the page by its hash', async () => {
  const [, early = ''] = /<script>(.+?)<\/script>/s.exec(html) ?? [];
  expect(early).toContain('parley-theme');
  const hash = createHash('sha256').update(early).digest('base64');
  for (const address of ['/', ...linked]) {
    const policy = (await fetch(api.url + address)).headers.get('content-security-policy');
    const scripts = address === '/' ? `'self' 'sha256-${hash}'` : "'self'";
    expect(policy).toContain(`default-src 'none'; script-src ${scripts}; style-src 'self'`);
    expect(policy).not.toContain('unsafe');
  }
});

it('serves no other file of the repository', async () => {
  const others = [
    '/src/protocol/agent/plan.ts',
    '/src/protocol/isomorphic/plan-reducer.js',
    '/page/',
    '/page/main.js',
    '/page/..%2findex.ts',
    '/page/assets/',
    `/page/assets/nothing-${NO_HASH}.js`,
    `/page/assets/..%2f..%2findex-${NO_HASH}.ts`,
    '/package.json',
  ];
  for (const path of others) expect([path, (await fetch(api.url + path)).status]).toEqual([path, 404]);
});

it('sends files compressed to clients that accept it, with the same ETag, and uncompressed to others', async () => {
  const [address = ''] = linked.filter((one) => one.includes('/main-'));
  const plain = await fetch(api.url + address, { headers: { 'accept-encoding': 'identity' } });
  const packed = await fetch(api.url + address, { headers: { 'accept-encoding': 'gzip, br' } });
  const encodings = [plain, packed].map(({ headers }) => headers.get('content-encoding'));
  expect(encodings).toEqual([null, 'gzip']);
  expect(packed.headers.get('vary')).toContain('Accept-Encoding');
  expect(packed.headers.get('etag')).toBe(plain.headers.get('etag'));
  const text = await plain.text();
  expect(await packed.text()).toBe(text);
  expect(Number(packed.headers.get('content-length'))).toBeLessThan(text.length / 2);
});

describe('for the page of another version, during an upgrade', () => {
  const other = (name: string): Promise<Response> =>
    fetch(`${api.url}/page/assets/${name.replace('.', `-${NO_HASH}.`)}`);

  it.each(['main.js', 'settings.js'])('answers %s with a script that reloads the page', async (name) => {
    const response = await other(name);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await response.text()).toContain('location.reload()');
  });

  it("answers the page's own addresses with its current files, which are not cached", async () => {
    for (const [name, type] of [
      ['styles.css', 'text/css'],
      ['icon.svg', 'image/svg+xml'],
    ] as const) {
      const response = await other(name);
      expect(response.headers.get('content-type')).toContain(type);
      expect([response.headers.get('cache-control'), response.headers.get('etag')]).toEqual([
        'no-store',
        null,
      ]);
    }
    const language = await fetch(`${api.url}/page/assets/python.min-${NO_HASH}.js`);
    expect(await language.text()).toContain('`python` grammar');
  });
});

describe('the manifest, with which the page is installed as an app', () => {
  it('starts at the page, in its own window, in the colors of the page', async () => {
    const response = await fetch(`${api.url}/page/manifest.webmanifest`);
    expect(response.headers.get('content-type')).toBe('application/manifest+json');
    expect(response.headers.get('content-security-policy')).toContain("manifest-src 'self'");
    const manifest = (await response.json()) as Record<string, string>;
    expect(manifest).toMatchObject({
      id: '/',
      name: 'Parley',
      start_url: '/',
      scope: '/',
      display: 'standalone',
    });
    const light = /name="theme-color" content="(#\w+)" media="\(prefers-color-scheme: light\)"/.exec(
      html,
    )?.[1];
    expect([manifest['theme_color'], manifest['background_color']]).toEqual([light, light]);
  });

  it('names icons in the sizes that browsers request, unchanged', async () => {
    const manifest = await fetch(`${api.url}/page/manifest.webmanifest`);
    const { icons } = (await manifest.json()) as { icons: Record<'src' | 'type' | 'sizes', string>[] };
    for (const { src, type, sizes } of icons) {
      const response = await fetch(api.url + src);
      expect([src, response.headers.get('content-type')]).toEqual([src, type]);
      const { width, height } = await sharp(await response.arrayBuffer()).metadata();
      expect(['any', `${width}x${height}`]).toContain(sizes);
    }
    expect(icons.map(({ sizes }) => sizes)).toEqual(expect.arrayContaining(['any', '192x192', '512x512']));
  });
});
