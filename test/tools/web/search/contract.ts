/** What every search service behind `web_search` must guarantee, whatever its protocol: `searchContract(kind, harness)`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../../src/protocol/agent/tool.ts';
import { createEgress } from '../../../../src/security/index.ts';
import { createSearch } from '../../../../src/tools/web/search/search.ts';
import { configureSearch, searchRule } from '../../../../src/tools/web/search/services.ts';
import { createWebSearch, MAX_QUERY_CHARS, MAX_QUERY_WORDS } from '../../../../src/tools/web-search.ts';
import { toolContext } from '../../../fakes/agent/tool-context.ts';
import type { FakeSearch } from '../../../fakes/search/service.ts';

export interface SearchHarness {
  /** Starts the service; it knows this key. */
  start: (key: string) => Promise<FakeSearch>;
  /** The variable that holds its key unless the settings name one; undefined if it needs none. */
  variable: string | undefined;
}

const KEY = 'search-key-of-this-test';
/** Results requested from every service. */
const ASKED = 10;

/** Runs the suite over one kind of service. */
export function searchContract(kind: string, { start, variable }: SearchHarness): void {
  describe(`${kind} as a search service`, () => {
    let service: FakeSearch;
    beforeEach(async () => void (service = await start(KEY)));
    afterEach(() => service.close());

    const searchAt = (baseUrl: string, key = KEY) => {
      const file = searchRule.parse({ kind, baseUrl, apiKeyEnv: 'OWN_SEARCH_KEY' });
      const { search, errors } = configureSearch(file, { OWN_SEARCH_KEY: key });
      if (search === undefined) throw new Error(errors.join('\n'));
      return createSearch(search, createEgress({ allow: [new URL(baseUrl).origin] }));
    };
    const search = async (args: Record<string, unknown>, key = KEY): Promise<ToolResult> => {
      const tool = createWebSearch(() => searchAt(service.root, key));
      return await tool.execute(tool.parameters.parse(args), toolContext());
    };

    it('returns titles, addresses and descriptions as text of strangers', async () => {
      service.results = [
        {
          title: 'Tide\ntables',
          url: 'https://tides.example/',
          description: 'High at <strong>six</strong>.',
        },
        { title: 'Moon', url: 'https://moon.example/' },
      ];
      const { content, addresses, from, source } = await search({ query: ' tides today ' });
      expect(content).toContain(
        '1. Tide tables\n   https://tides.example/\n   High at <strong>six</strong>.',
      );
      expect(content).toContain('2. Moon\n   https://moon.example/');
      expect(addresses).toEqual(['https://tides.example/', 'https://moon.example/']);
      expect({ from, source }).toEqual({ from: 'a web search', source: undefined });
      expect(service.queries).toEqual(['tides today']);
    });

    it('returns as many results as requested, each address once, only pages, and reports when there are none', async () => {
      const pages = Array.from({ length: 20 }, (_, n) => ({ title: `t${n}`, url: `https://x.example/${n}` }));
      service.results = pages;
      const many = async (count: number): Promise<number | undefined> =>
        (await search({ query: 'x', count })).addresses?.length;
      expect(await many(3)).toBe(3);
      expect(await many(ASKED)).toBe(ASKED);
      await expect(many(ASKED + 1)).rejects.toThrow(String(ASKED));
      const odd = [{ title: 'script', url: 'javascript:alert(1)' }, pages[0]!, pages[0]!];
      service.results = odd;
      expect((await search({ query: 'x' })).addresses).toEqual(['https://x.example/0']);
      service.results = [];
      expect(await search({ query: 'x' })).toMatchObject({
        content: 'Nothing was found.',
        source: 'operator',
      });
    });

    it('sends the same request whatever the model wants, with only the query', async () => {
      await search({ query: 'tides', count: 1 });
      await search({ query: 'tides', count: 9 });
      const seen = service.requests.map(({ url, body }) => url.search + body);
      expect(new Set(seen).size).toBe(1);
      expect(seen[0]).not.toContain(KEY);
    });

    it('distinguishes a wrong key, a pause, trouble and garbage, names the setting, and never shows the key', async () => {
      const wrong = await search({ query: 'x' }, 'a-wrong-key').catch(String);
      // A service that needs no key considers none wrong.
      expect(JSON.stringify(wrong)).toMatch(variable === undefined ? /./ : /check OWN_SEARCH_KEY/);
      expect(JSON.stringify(wrong)).not.toContain('a-wrong-key');
      service.refuseNext(429);
      await expect(search({ query: 'x' })).rejects.toMatchObject({ code: 'rate_limited', retryable: true });
      service.refuseNext(502);
      await expect(search({ query: 'x' })).rejects.toMatchObject({ code: 'unavailable', retryable: true });
      for (const garbage of ['{"web":{"results":[{"title":1}]},"results":[{"title":1}]}', '<html>', '[]'])
        await expect(garbled(garbage)).rejects.toMatchObject({ code: 'bad_response' });
    });

    const garbled = async (garbage: string): Promise<ToolResult> => {
      service.garbage = garbage;
      return await search({ query: 'x' });
    };

    it('accepts queries at the limits and none beyond', async () => {
      const words = (count: number): string => Array.from({ length: count }, () => 'w').join(' ');
      await search({ query: 'x'.repeat(MAX_QUERY_CHARS) });
      await search({ query: words(MAX_QUERY_WORDS) });
      await expect(search({ query: 'x'.repeat(MAX_QUERY_CHARS + 1) })).rejects.toThrow('400');
      await expect(search({ query: words(MAX_QUERY_WORDS + 1) })).rejects.toThrow('50 words');
      expect(service.queries).toHaveLength(2);
    });

    it('is reached at a private address because the settings name it, and leads nowhere else', async () => {
      service.location = 'http://169.254.169.254/latest/meta-data/';
      await expect(search({ query: 'x' })).rejects.toThrow(/status 302|not a public address/);
      const seen = service.requests.length;
      expect(seen).toBe(1);
      const { root } = service;
      await service.close();
      const away = searchAt(root)('x', new AbortController().signal);
      await expect(away).rejects.toMatchObject({ code: 'unavailable', retryable: true });
      await expect(away).rejects.toThrow('search.baseUrl');
      service = await start(KEY);
    });

    it('says which variable or field is missing', () => {
      const { errors } = configureSearch(searchRule.parse({ kind }), {});
      expect(errors.join()).toContain(
        variable === undefined
          ? 'search.baseUrl: is missing'
          : `the environment variable ${variable} is not set`,
      );
      const named = configureSearch(searchRule.parse({ kind, apiKeyEnv: 'NOT_THERE' }), {});
      expect(named.errors.join()).toContain(
        'search.apiKeyEnv: the environment variable NOT_THERE is not set',
      );
    });
  });
}
