/** SearXNG, a self-hosted search service: its JSON API, which is off until its settings allow it. */
import { z } from 'zod';
import { bearer, type SearchKind } from './kind.ts';

const answerSchema = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
});

export const searxng: SearchKind = {
  kind: 'searxng',
  label: 'SearXNG',
  baseUrl: undefined,
  keyVariable: undefined,
  keyRefused: [401],
  advice: {
    403: 'It answers in JSON only when its settings.yml lists json under search.formats.',
    404: 'search.baseUrl must be the address of its start page.',
  },
  ask(place, query) {
    const parameters = new URLSearchParams({ q: query, format: 'json' });
    return { url: `${place.baseUrl}/search?${parameters.toString()}`, headers: bearer(place) };
  },
  read: (answer) =>
    answerSchema
      .parse(answer)
      .results.map(({ title, url, content }) => ({ title, url, description: content ?? '' })),
};
