/** The web search of ollama.com: a POST with a bearer token. */
import { type FakeSearch, jsonOf, startFakeSearch, unknownIn } from './service.ts';

/** Starts it; it accepts this token. */
export function startFakeOllamaSearch(token: string): Promise<FakeSearch> {
  const refuse = (status: number, error: string) => ({ status, says: { error } });
  return startFakeSearch(
    (asked) => {
      if (asked.url.pathname !== '/api/web_search') return refuse(404, 'path not found');
      if (asked.method !== 'POST') return refuse(405, 'method not allowed');
      if (asked.headers.authorization !== `Bearer ${token}`) return refuse(401, 'unauthorized');
      const fields = jsonOf(asked);
      const { query, max_results: count = 5 } = fields ?? {};
      if (unknownIn(Object.keys(fields ?? {}), ['query', 'max_results']) !== undefined)
        return refuse(400, 'unknown field');
      if (typeof query !== 'string' || query === '') return refuse(400, 'query is required');
      if (typeof count !== 'number' || count < 1 || count > 10) return refuse(400, 'max_results');
      return { query, count };
    },
    (results) => ({
      results:
        results.length === 0
          ? null
          : results.map(({ title, url, description = '' }) => ({ title, url, content: description })),
    }),
  );
}
