/** The search contract over SearXNG, and what is its own: JSON must be allowed, and a proxy before it may want a key. */
import { expect, it } from 'vitest';
import { createEgress } from '../../../../src/security/index.ts';
import { createSearch } from '../../../../src/tools/web/search/search.ts';
import { configureSearch, searchRule } from '../../../../src/tools/web/search/services.ts';
import { searchContract } from '../../../contracts/search.ts';
import { startFakeSearxng } from '../../../fakes/search/searxng.ts';
import type { SearxngOptions } from '../../../fakes/search/searxng.ts';

searchContract('searxng', { start: () => startFakeSearxng({}), variable: undefined });

/** Searches a SearXNG that is set up so; the error's words where it does not answer. */
async function searchWith(options: SearxngOptions, apiKeyEnv?: string): Promise<unknown> {
  const service = await startFakeSearxng(options);
  try {
    service.results = [{ title: 'Tides', url: 'https://tides.example/' }];
    // As people copy it from the browser.
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

it('says what its settings must allow when it answers pages only', async () => {
  expect(await searchWith({ formats: ['html'] })).toMatch(/settings\.yml lists json under search\.formats/);
});

it('needs no key, and sends one that is named, to a proxy before it', async () => {
  const found = [{ title: 'Tides', url: 'https://tides.example/', description: '' }];
  expect(await searchWith({})).toEqual(found);
  expect(await searchWith({ token: 'token-of-the-proxy' }, 'SEARCH_TOKEN')).toEqual(found);
  expect(await searchWith({ token: 'another' }, 'SEARCH_TOKEN')).toMatch(/check SEARCH_TOKEN/);
});
