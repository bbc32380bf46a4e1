/** The files of the page as browsers get them: its own, and the modules shared with the gateway. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openApi } from './client.ts';
import type { OpenApi } from './client.ts';

const PAGE = new URL('../../../channels/http/page/', import.meta.url);
const REDUCER = '/src/contracts/isomorphic/plan-reducer.js';

let api: OpenApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

it('serves the plan reducer with the type, policy and ETag of the other scripts', async () => {
  const [main, reducer] = await Promise.all(['/page/main.js', REDUCER].map((path) => fetch(api.url + path)));
  expect(reducer?.status).toBe(200);
  for (const header of ['content-type', 'content-security-policy', 'cache-control'])
    expect(reducer?.headers.get(header)).toBe(main?.headers.get(header));
  expect(await reducer?.text()).toBe(readFileSync(new URL(`../../..${REDUCER}`, import.meta.url), 'utf8'));
  const etag = reducer?.headers.get('etag') ?? '';
  const again = await fetch(api.url + REDUCER, { headers: { 'if-none-match': etag } });
  expect(again.status).toBe(304);
});

it('serves no other file of the repository', async () => {
  const others = [
    '/src/contracts/plan.ts',
    '/src/config.ts',
    '/src/',
    '/page/',
    '/page/..%2findex.ts',
    '/package.json',
  ];
  for (const path of others) expect((await fetch(api.url + path)).status).toBe(404);
});

it('serves every module that a script of the page imports', async () => {
  const scripts = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.js'),
  );
  const imported = scripts.flatMap((name) => {
    const url = new URL(`/page/${name}`, api.url);
    const text = readFileSync(new URL(name, PAGE), 'utf8');
    return [...text.matchAll(/^(?:import|\} from|export) .*?'(\..+?)';$/gm)].map(
      ([, path = '']) => new URL(path, url).href,
    );
  });
  expect(imported).toContain(api.url + REDUCER);
  for (const url of new Set(imported)) expect([url, (await fetch(url)).status]).toEqual([url, 200]);
});
