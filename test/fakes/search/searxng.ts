/** A SearXNG in a subfolder of its server, with JSON allowed or not; one behind a proxy may require a token. */
import { type FakeSearch, startFakeSearch, unknownIn } from './service.ts';

const PARAMETERS = [
  'q',
  'format',
  'categories',
  'engines',
  'language',
  'pageno',
  'time_range',
  'safesearch',
  'autocomplete',
];

export interface SearxngOptions {
  /** What its settings.yml has under `search.formats`. */
  formats?: readonly string[];
  token?: string | undefined;
}

/** Starts it. */
export function startFakeSearxng({ formats = ['html', 'json'], token }: SearxngOptions): Promise<FakeSearch> {
  return startFakeSearch(
    ({ method, url: { pathname, searchParams }, headers }) => {
      if (token !== undefined && headers.authorization !== `Bearer ${token}`)
        return { status: 401, says: { error: 'unauthorized' } };
      if (pathname !== '/search' || method !== 'GET') return { status: 404, says: { error: 'not found' } };
      const unknown = unknownIn(searchParams.keys(), PARAMETERS);
      const query = searchParams.get('q') ?? '';
      if (unknown !== undefined || query === '')
        return { status: 400, says: { error: `bad ${unknown ?? 'q'}` } };
      if (!formats.includes(searchParams.get('format') ?? 'html')) return { status: 403, says: 'Forbidden' };
      return { query };
    },
    (results) => ({
      query: 'as asked',
      number_of_results: 0,
      results: results.map(({ title, url, description }) => ({
        title,
        url,
        ...(description !== undefined && { content: description }),
        engine: 'duckduckgo',
        parsed_url: ['https', 'x', '/', '', '', ''],
        score: 1,
        category: 'general',
      })),
      answers: [],
      suggestions: [],
      unresponsive_engines: [['google', 'Suspended: CAPTCHA']],
    }),
    '/searx',
  );
}
