/** `web_search` independent of the service: how it is configured. The services themselves are under `searchContract`. */
import { expect, it } from 'vitest';
import { configureSearch, searchRule } from '../../../src/tools/web/search/services.ts';
import { createWebSearch } from '../../../src/tools/web-search.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

it('says what to set when no service is named (B-21)', async () => {
  const tool = createWebSearch(() => undefined);
  const search = tool.execute(tool.parameters.parse({ query: 'x' }), toolContext());
  await expect(search).rejects.toThrow(/search\.kind of config\.json, or set BRAVE_API_KEY/);
});

it('is Brave when only BRAVE_API_KEY is set, at BRAVE_API_ROOT if set, and nothing without settings', () => {
  expect(configureSearch(undefined, {})).toEqual({ search: undefined, errors: [] });
  const key = { BRAVE_API_KEY: 'k' };
  expect(configureSearch(undefined, key).search).toMatchObject({
    kind: 'brave',
    baseUrl: 'https://api.search.brave.com',
    apiKey: 'k',
  });
  const moved = { ...key, BRAVE_API_ROOT: 'https://proxy.example/brave/' };
  expect(configureSearch(undefined, moved).search).toMatchObject({
    baseUrl: 'https://proxy.example/brave',
    addressSetting: 'BRAVE_API_ROOT',
  });
});

it('prefers the service in config.json over the variables, and refuses a key that cannot be sent in a header', () => {
  const file = searchRule.parse({ kind: 'searxng', baseUrl: 'http://127.0.0.1:8888/' });
  expect(configureSearch(file, { BRAVE_API_KEY: 'k' }).search).toMatchObject({
    kind: 'searxng',
    baseUrl: 'http://127.0.0.1:8888',
    apiKey: undefined,
  });
  const { search, errors } = configureSearch(searchRule.parse({ kind: 'tavily' }), { TAVILY_API_KEY: 'a b' });
  expect(search).toBeUndefined();
  expect(errors).toEqual(['TAVILY_API_KEY: may hold only visible ASCII characters']);
});
