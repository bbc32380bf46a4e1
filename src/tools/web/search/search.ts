/** One search with whatever service is configured: its request, its bounded answer, and its errors by cause. */
import { z } from 'zod';
import { GatewayError, ToolError } from '../../../protocol/errors.ts';
import type { Egress, EgressResponse } from '../../../protocol/agent/tool.ts';
import { ASKED_RESULTS, type SearchKind, type SearchResult } from './kind.ts';
import { searchKinds, type SearchSettings } from './services.ts';

/**
 * Returns at most `ASKED_RESULTS` pages, each address once. Throws what the egress throws, and `ToolError`:
 * `rate_limited`, `rejected`, `unavailable`, `bad_response`, which name the setting to check and never a key.
 */
export type Search = (query: string, signal: AbortSignal) => Promise<SearchResult[]>;

/** Makes the search; `egress` may reach the service. */
export function createSearch(settings: SearchSettings, egress: Egress): Search {
  const kind: SearchKind | undefined = searchKinds.find((one) => one.kind === settings.kind);
  if (kind === undefined) throw new Error(`there is no search service of kind ${settings.kind}`);
  return async (query, signal) => {
    const answer = await ask(egress, { ...kind.ask(settings, query), signal }, kind, settings);
    if (answer.status !== 200) throw refusal(answer.status, kind, settings);
    return bounded(read(answer, kind, settings));
  };
}

async function ask(
  egress: Egress,
  request: Parameters<Egress>[0],
  { label }: SearchKind,
  { addressSetting }: SearchSettings,
): Promise<EgressResponse> {
  try {
    return await egress(request);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'unreachable') throw error;
    const message = `${label} cannot be reached: check ${addressSetting}.`;
    throw new ToolError('unavailable', message, { retryable: true, cause: error });
  }
}

function read({ body }: EgressResponse, kind: SearchKind, { addressSetting }: SearchSettings) {
  try {
    return kind.read(JSON.parse(body.toString('utf8')));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof z.ZodError)) throw error;
    const message = `${kind.label} sent an answer that cannot be read: check ${addressSetting}.`;
    throw new ToolError('bad_response', message, { cause: error });
  }
}

function refusal(status: number, kind: SearchKind, { keySetting, addressSetting }: SearchSettings) {
  const { label, keyRefused, advice } = kind;
  if (status === 429)
    return new ToolError('rate_limited', `${label} asks for a pause: try again in a moment.`, {
      retryable: true,
    });
  const sentence = `${label} refused the search (status ${status})`;
  const specific = advice?.[status];
  if (specific !== undefined) return new ToolError('rejected', `${sentence}. ${specific}`);
  if (keyRefused.includes(status))
    return new ToolError('rejected', `${sentence}: check ${keySetting ?? 'search.apiKeyEnv'}.`);
  if (status >= 500)
    return new ToolError('unavailable', `${label} failed (status ${status}).`, { retryable: true });
  return new ToolError('rejected', `${sentence}: check ${addressSetting}.`);
}

/** The first pages that can be fetched, each once. */
function bounded(results: readonly SearchResult[]): SearchResult[] {
  const pages = new Map<string, SearchResult>();
  for (const result of results) {
    if (pages.size === ASKED_RESULTS) break;
    if (/^https?:\/\//i.test(result.url) && !pages.has(result.url)) pages.set(result.url, result);
  }
  return [...pages.values()];
}
