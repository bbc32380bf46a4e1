/** The web search of ollama.com, for people with an account there. It is not part of an Ollama server. */
import { z } from 'zod';
import { ASKED_RESULTS, bearer, type SearchKind } from './kind.ts';

const answerSchema = z.object({
  results: z
    .array(z.object({ title: z.string().default(''), url: z.string(), content: z.string().default('') }))
    // Without a result the list may be null.
    .nullable(),
});

export const ollama: SearchKind = {
  kind: 'ollama',
  label: "Ollama's web search",
  baseUrl: 'https://ollama.com',
  keyVariable: 'OLLAMA_API_KEY',
  keyRefused: [401, 403],
  ask: (place, query) => ({
    url: `${place.baseUrl}/api/web_search`,
    headers: bearer(place),
    json: { query, max_results: ASKED_RESULTS },
  }),
  read: (answer) =>
    (answerSchema.parse(answer).results ?? []).map(({ title, url, content }) => ({
      title,
      url,
      description: content,
    })),
};
