/** The search API of Tavily. */
import { z } from 'zod';
import { ASKED_RESULTS, bearer, type SearchKind } from './kind.ts';

const answerSchema = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().default('') })),
});

export const tavily: SearchKind = {
  kind: 'tavily',
  label: 'Tavily',
  baseUrl: 'https://api.tavily.com',
  keyVariable: 'TAVILY_API_KEY',
  keyRefused: [401, 403],
  advice: {
    432: 'The plan of its key is used up.',
    433: 'The limit that its account has set for paid searches is reached.',
  },
  ask: (place, query) => ({
    url: `${place.baseUrl}/search`,
    headers: bearer(place),
    json: { query, max_results: ASKED_RESULTS },
  }),
  read: (answer) =>
    answerSchema
      .parse(answer)
      .results.map(({ title, url, content }) => ({ title, url, description: content })),
};
