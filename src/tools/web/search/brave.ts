/** The Brave Search API (B-21). */
import { z } from 'zod';
import { ASKED_RESULTS, type SearchKind } from './kind.ts';

const answerSchema = z.object({
  // Without a result the service leaves it out.
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().default('') })),
    })
    .optional(),
});

export const brave: SearchKind = {
  kind: 'brave',
  label: 'Brave',
  baseUrl: 'https://api.search.brave.com',
  keyVariable: 'BRAVE_API_KEY',
  // 422 for an unknown key.
  keyRefused: [401, 403, 422],
  ask({ baseUrl, apiKey = '' }, query) {
    const parameters = new URLSearchParams({
      q: query,
      count: String(ASKED_RESULTS),
      text_decorations: 'false',
    });
    return {
      url: `${baseUrl}/res/v1/web/search?${parameters.toString()}`,
      headers: { accept: 'application/json', 'x-subscription-token': apiKey },
    };
  },
  read: (answer) => answerSchema.parse(answer).web?.results ?? [],
};
