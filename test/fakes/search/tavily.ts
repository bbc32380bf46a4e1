/** The search of Tavily: a POST with a bearer token; unknown fields are refused. */
import { type FakeSearch, jsonOf, startFakeSearch, unknownIn } from './service.ts';

const FIELDS = ['query', 'max_results', 'search_depth', 'topic', 'days', 'time_range', 'include_answer'];

/** Starts it; it accepts this token. */
export function startFakeTavily(token: string): Promise<FakeSearch> {
  const refuse = (status: number, error: string) => ({ status, says: { detail: { error } } });
  return startFakeSearch(
    (asked) => {
      if (asked.url.pathname !== '/search') return refuse(404, 'Not Found');
      if (asked.method !== 'POST') return refuse(405, 'Method Not Allowed');
      if (asked.headers.authorization !== `Bearer ${token}`)
        return refuse(401, 'Unauthorized: missing or invalid API key.');
      const fields = jsonOf(asked);
      if (fields === undefined) return refuse(422, 'no JSON');
      const { query, max_results: count = 5 } = fields;
      const unknown = unknownIn(Object.keys(fields), FIELDS);
      if (unknown !== undefined || typeof query !== 'string' || query === '' || query.length > 400)
        return refuse(400, unknown ?? 'query');
      if (typeof count !== 'number' || count < 0 || count > 20) return refuse(400, 'max_results');
      return { query, count };
    },
    (results) => ({
      query: 'as asked',
      answer: null,
      images: [],
      results: results.map(({ title, url, description = '' }) => ({
        title,
        url,
        content: description,
        score: 0.8,
        raw_content: null,
      })),
      response_time: 1.2,
    }),
  );
}
