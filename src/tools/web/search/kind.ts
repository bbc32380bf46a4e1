/** What a kind of search service provides: how to query it and read its answers. The rest is the same for all. */
/** Results requested from every service, whatever the model wants: the service should learn nothing but the query. */
export const ASKED_RESULTS = 10;

/** One result, in the service's own words. */
export interface SearchResult {
  title: string;
  url: string;
  description: string;
}

/** Where a service is, without a slash at the end, and its key if it has one. */
export interface SearchPlace {
  baseUrl: string;
  apiKey: string | undefined;
}

/** The request of one search; `json` makes it a POST. */
interface SearchRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  json?: Readonly<Record<string, unknown>>;
}

/** A kind of search service. It is one file, and one line in `services.ts`. */
export interface SearchKind {
  kind: string;
  /** Its name for people. */
  label: string;
  /** Where its API is; undefined for a self-hosted one: `search.baseUrl` says where. */
  baseUrl: string | undefined;
  /** The variable with its key unless `search.apiKeyEnv` names another; undefined if none is needed. */
  keyVariable: string | undefined;
  /** Statuses with which it refuses a key. */
  keyRefused: readonly number[];
  /** What to do about other statuses, as a sentence. */
  advice?: Readonly<Record<number, string>>;
  ask(place: SearchPlace, query: string): SearchRequest;
  /** The results in an answer with status 200. Throws `ZodError` for an answer of another shape. */
  read(answer: unknown): SearchResult[];
}

/** The headers of a service that accepts its key as a bearer token. */
export function bearer({ apiKey }: SearchPlace): Record<string, string> {
  const accept = { accept: 'application/json' };
  return apiKey === undefined ? accept : { ...accept, authorization: `Bearer ${apiKey}` };
}
