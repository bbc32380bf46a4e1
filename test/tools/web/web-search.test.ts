/** `web_search` against a service as strict as Brave's. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ToolResult } from '../../../src/contracts/tool.ts';
import { createEgress } from '../../../src/security/index.ts';
import {
  createWebSearch,
  MAX_QUERY_CHARS,
  MAX_QUERY_WORDS,
  MAX_RESULTS,
} from '../../../src/tools/web/web-search.ts';
import { startFakeBrave } from '../../fakes/brave.ts';
import type { FakeBrave } from '../../fakes/brave.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

const KEY = 'brave-key-of-this-test';
let brave: FakeBrave;

beforeEach(async () => {
  brave = await startFakeBrave(KEY);
});
afterEach(() => brave.close());

async function search(args: Record<string, unknown>, apiKey: string | undefined = KEY): Promise<ToolResult> {
  const tool = createWebSearch({
    apiKey,
    apiRoot: brave.root,
    egress: createEgress({ allow: [brave.root] }),
  });
  return await tool.execute(tool.parameters.parse(args), toolContext());
}

it('gives titles, addresses and descriptions as text of strangers (B-21)', async () => {
  brave.results = [
    { title: 'Tide\ntables', url: 'https://tides.example/', description: 'High at <strong>six</strong>.' },
    { title: 'Moon', url: 'https://moon.example/' },
  ];
  const { content, addresses, from } = await search({ query: ' tides today ' });
  expect(content).toContain('1. Tide tables\n   https://tides.example/\n   High at <strong>six</strong>.');
  expect(content).toContain('2. Moon\n   https://moon.example/');
  expect(addresses).toEqual(['https://tides.example/', 'https://moon.example/']);
  expect(from).toBe('a web search');
  expect(brave.queries).toEqual(['tides today']);
});

it('asks for as many results as wanted, and says when there are none', async () => {
  brave.results = Array.from({ length: 20 }, (_, n) => ({ title: `t${n}`, url: `https://x.example/${n}` }));
  expect((await search({ query: 'x', count: 3 })).content.match(/^\d+\. /gm)).toHaveLength(3);
  expect((await search({ query: 'x', count: MAX_RESULTS })).content.match(/^\d+\. /gm)).toHaveLength(
    MAX_RESULTS,
  );
  brave.results = [];
  expect(await search({ query: 'x' })).toMatchObject({ content: 'Nothing was found.' });
});

it('says which variable is missing, without asking anybody (B-21)', async () => {
  const tool = createWebSearch({ apiKey: undefined, apiRoot: brave.root, egress: createEgress() });
  await expect(tool.execute(tool.parameters.parse({ query: 'x' }), toolContext())).rejects.toThrow(
    'BRAVE_API_KEY',
  );
  expect(brave.queries).toEqual([]);
});

it('tells a wrong key from a pause and from garbage, and never shows the key', async () => {
  const wrong = await search({ query: 'x' }, 'a-wrong-key').catch(String);
  expect(wrong).toContain('check BRAVE_API_KEY');
  expect(wrong).not.toContain('a-wrong-key');
  brave.rateLimit(1);
  await expect(search({ query: 'x' })).rejects.toMatchObject({ code: 'rate_limited', retryable: true });
  brave.garbage = '{"web":{"results":[{"title":1}]}}';
  await expect(search({ query: 'x' })).rejects.toMatchObject({ code: 'bad_response' });
  brave.garbage = '<html>';
  await expect(search({ query: 'x' })).rejects.toMatchObject({ code: 'bad_response' });
});

it('takes queries at the bounds of the service and none beyond', async () => {
  const words = (count: number): string => Array.from({ length: count }, () => 'w').join(' ');
  await search({ query: 'x'.repeat(MAX_QUERY_CHARS) });
  await search({ query: words(MAX_QUERY_WORDS) });
  await expect(search({ query: 'x'.repeat(MAX_QUERY_CHARS + 1) })).rejects.toThrow('400');
  await expect(search({ query: words(MAX_QUERY_WORDS + 1) })).rejects.toThrow('50 words');
  expect(brave.queries).toHaveLength(2);
});
