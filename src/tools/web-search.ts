/** The tool `web_search`: pages that the configured search service finds (B-21). */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { defineTool, type Tool } from '../protocol/agent/tool.ts';
import { ASKED_RESULTS, type SearchResult } from './web/search/kind.ts';
import type { Search } from './web/search/search.ts';
import { textRef } from '../protocol/texts/say.ts';

/** The tool is offered only while a search service is configured. */
export const WEB_SEARCH = 'web_search';
/** Longest query that every service accepts, in characters and in words. */
export const MAX_QUERY_CHARS = 400;
export const MAX_QUERY_WORDS = 50;
/** Longest title and description shown, in UTF-16 units. */
const MAX_SHOWN_CHARS = 500;

/** What the operator can do about a search that is not set up. */
const NOT_SET_UP =
  'Web search is not set up: name a service in search.kind of config.json, or set BRAVE_API_KEY (from https://brave.com/search/api).';

const parameters = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUERY_CHARS)
    .refine((query) => query.split(/\s+/).length <= MAX_QUERY_WORDS, `has at most ${MAX_QUERY_WORDS} words`),
  count: z.int().min(1).max(ASKED_RESULTS).default(5),
});

/** Makes the tool; `search` returns the search as it is configured now, undefined while none is. */
export function createWebSearch(search: () => Search | undefined): Tool {
  return defineTool({
    name: WEB_SEARCH,
    description: 'Search the web: titles, addresses and short descriptions. Read a page with web_fetch.',
    parameters,
    effect: 'pure',
    risk: () => 'safe',
    results: 'web',
    reach: ({ query }) => ({ query }),
    lasting: () => textRef('lasting.search'),
    async execute(args: z.infer<typeof parameters>, ctx) {
      const find = search();
      if (find === undefined) throw new ToolError('unavailable', NOT_SET_UP);
      const results = (await find(args.query, ctx.signal)).slice(0, args.count);
      if (results.length === 0) return { content: 'Nothing was found.', source: 'operator' };
      const content = results.map(line).join('\n\n');
      return { content, from: 'a web search', addresses: results.map(({ url }) => url) };
    },
  });
}

function line({ title, url, description }: SearchResult, index: number): string {
  return [`${index + 1}. ${oneLineText(title)}`, oneLineText(url), oneLineText(description)]
    .filter((part) => part !== '')
    .join('\n   ');
}

function oneLineText(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_SHOWN_CHARS).toWellFormed();
}
