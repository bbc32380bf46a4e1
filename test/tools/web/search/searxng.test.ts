/** The search contract over SearXNG, and its specifics: JSON must be allowed, and a proxy may require a key. */
import { expect, it } from 'vitest';
import { createEgress } from '../../../../src/security/index.ts';
import { createSearch } from '../../../../src/tools/web/search/search.ts';
import { configureSearch, searchRule } from '../../../../src/tools/web/search/services.ts';
import { searchContract } from './contract.ts';
import { type SearxngOptions, startFakeSearxng } from '../../../fakes/search/searxng.ts';

searchContract('searxng', { start: () => startFakeSearxng({}), variable: undefined });

/** Searches a SearXNG with this setup; returns the error text when it does not answer. */
async function searchWith(options: SearxngOptions, apiKeyEnv?: string): Promise<unknown> {
  const service = await startFakeSearxng(options);
  try {
    service.results = [{ title: 'Tides', url: 'https://tides.example/' }];
    // The way users copy it from the browser.
    const file = searchRule.parse({ kind: 'searxng', baseUrl: `${service.root}/`, apiKeyEnv });
    const { search, errors } = configureSearch(file, { SEARCH_TOKEN: 'token-of-the-proxy' });
    if (search === undefined) throw new Error(errors.join('\n'));
    const egress = createEgress({ allow: [new URL(service.root).origin] });
    return await createSearch(search, egress)('tides', new AbortController().signal);
  } catch (error) {
    return String(error);
  } finally {
    await service.close();
  }
}

it('says what its settings must allow when it answers only with pages', async () => {
  expect(await searchWith({ formats: ['html'] })).toMatch(/settings\.yml lists json under search\.formats/);
});

it('needs no key, but sends a configured one to a proxy in front of it', async () => {
  const found = [{ title: 'Tides', url: 'https://tides.example/', description: '' }];
  expect(await searchWith({})).toEqual(found);
  expect(await searchWith({ token: 'token-of-the-proxy' }, 'SEARCH_TOKEN')).toEqual(found);
  expect(await searchWith({ token: 'another' }, 'SEARCH_TOKEN')).toMatch(/check SEARCH_TOKEN/);
});
