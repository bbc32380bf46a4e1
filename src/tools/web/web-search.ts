/** The tool `web_search`: results of the Brave Search API (B-21). */
import { z } from 'zod';
import type { Egress } from '../../contracts/tool.ts';
import { ToolError } from '../../contracts/errors.ts';
import { defineTool } from '../../contracts/tool.ts';
import type { Tool } from '../../contracts/tool.ts';

/** Longest query Brave takes, in characters and in words. */
export const MAX_QUERY_CHARS = 400;
export const MAX_QUERY_WORDS = 50;
/** Most results of one call. */
export const MAX_RESULTS = 10;
/** Longest title and description shown, in UTF-16 units. */
const MAX_SHOWN_CHARS = 500;

const NOT_SET_UP = 'Web search is not set up: it needs BRAVE_API_KEY (from https://brave.com/search/api).';

export interface BraveSearch {
  /** `BRAVE_API_KEY`; undefined: the tool only says what is missing. */
  apiKey: string | undefined;
  /** Where the API is, without a path. */
  apiRoot: string;
  /** May reach `apiRoot`. */
  egress: Egress;
}

const parameters = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUERY_CHARS)
    .refine((query) => query.split(/\s+/).length <= MAX_QUERY_WORDS, `has at most ${MAX_QUERY_WORDS} words`),
  count: z.int().min(1).max(MAX_RESULTS).default(5),
});

const answerSchema = z.object({
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().default('') })),
    })
    .optional(),
});

export function createWebSearch({ apiKey, apiRoot, egress }: BraveSearch): Tool {
  const unavailable = apiKey === undefined ? NOT_SET_UP : undefined;
  return defineTool({
    unavailable,
    name: 'web_search',
    description: 'Search the web: titles, addresses and short descriptions. Read a page with web_fetch.',
    parameters,
    effect: 'pure',
    risk: () => 'safe',
    results: 'web',
    reach: ({ query }) => ({ query }),
    async execute(args: z.infer<typeof parameters>, ctx) {
      if (apiKey === undefined) {
        throw new ToolError('unavailable', NOT_SET_UP);
      }
      const url = new URL('/res/v1/web/search', apiRoot);
      url.search = new URLSearchParams({
        q: args.query,
        // Always the same: the service shall learn nothing but the query.
        count: String(MAX_RESULTS),
        text_decorations: 'false',
      }).toString();
      const headers = { accept: 'application/json', 'x-subscription-token': apiKey };
      const answer = await egress({ url: url.href, headers, signal: ctx.signal });
      if (answer.status !== 200) throw refusal(answer.status);
      const results = parseAnswer(answer.body.toString('utf8')).slice(0, args.count);
      if (results.length === 0) return { content: 'Nothing was found.', source: 'operator' };
      const content = results.map(line).join('\n\n');
      return { content, from: 'a web search', addresses: results.map(({ url }) => url) };
    },
  });
}

type Result = NonNullable<z.infer<typeof answerSchema>['web']>['results'][number];

function line({ title, url, description }: Result, index: number): string {
  return [`${index + 1}. ${shown(title)}`, shown(url), shown(description)]
    .filter((part) => part !== '')
    .join('\n   ');
}

function shown(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_SHOWN_CHARS).toWellFormed();
}

function parseAnswer(text: string): Result[] {
  try {
    return answerSchema.parse(JSON.parse(text)).web?.results ?? [];
  } catch (error) {
    throw new ToolError('bad_response', 'The search service sent an answer that cannot be read.', {
      cause: error,
    });
  }
}

/** Brave says 422 for a key it does not know, beside the usual ones. */
function refusal(status: number): ToolError {
  if (status === 429) {
    return new ToolError('rate_limited', 'The search service asks for a pause: try again in a moment.', {
      retryable: true,
    });
  }
  if ([401, 403, 422].includes(status)) {
    return new ToolError(
      'rejected',
      `The search service refused the request (status ${status}): check BRAVE_API_KEY.`,
    );
  }
  return new ToolError('unavailable', `The search service failed (status ${status}).`, {
    retryable: status >= 500,
  });
}
