/** The Brave Search API, as strict as the real one: path, token, query and count are checked before any search. */
import { type AskedSearch, type FakeSearch, startFakeSearch, unknownIn } from './service.ts';

const PARAMETERS = [
  'q',
  'count',
  'offset',
  'country',
  'search_lang',
  'safesearch',
  'freshness',
  'text_decorations',
];

/** Starts it; it accepts this token. */
export function startFakeBrave(token: string): Promise<FakeSearch> {
  const refuse = (status: number, code: string) => ({
    status,
    says: { type: 'ErrorResponse', error: { status, code } },
  });
  return startFakeSearch(
    (asked) => {
      if (asked.url.pathname !== '/res/v1/web/search') return refuse(404, 'NOT_FOUND');
      if (asked.method !== 'GET') return refuse(405, 'METHOD_NOT_ALLOWED');
      if (asked.headers['x-subscription-token'] !== token) return refuse(422, 'SUBSCRIPTION_TOKEN_INVALID');
      const wrong = wrongParameter(asked);
      if (wrong !== undefined) return refuse(422, wrong);
      const { searchParams } = asked.url;
      return { query: searchParams.get('q') ?? '', count: Number(searchParams.get('count') ?? 20) };
    },
    // Without a result the real service leaves `web` out.
    (results) => ({ type: 'search', ...(results.length > 0 && { web: { type: 'search', results } }) }),
  );
}

function wrongParameter({ url: { searchParams } }: AskedSearch): string | undefined {
  const unknown = unknownIn(searchParams.keys(), PARAMETERS);
  if (unknown !== undefined) return unknown;
  const q = searchParams.get('q') ?? '';
  if (q === '' || q.length > 400 || q.split(/\s+/).length > 50) return 'q';
  const count = Number(searchParams.get('count') ?? 20);
  return Number.isInteger(count) && count >= 1 && count <= 20 ? undefined : 'count';
}
