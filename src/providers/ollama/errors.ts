/** What Ollama's own refusals and error lines mean, and what to do about them. */
import { ProviderError } from '../../contracts/errors.ts';
import { clip, overflowIn } from '../errors.ts';
import type { Where } from '../errors.ts';

/** An Ollama as error messages name it; `host` is without credentials, `setting` holds its address. */
export function ollamaAt(host: string, setting: string): Where {
  return { server: 'Ollama', host, setting, start: 'start it with `ollama serve`' };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: Where, status: number, body: string): ProviderError {
  const said = errorText(body);
  if (status === 404 && where.model !== undefined && said !== undefined) return unknownModel(where);
  if (said === undefined && status < 500) {
    return new ProviderError(
      'bad_response',
      `${where.host} answered ${status} and not as Ollama would: ${where.setting} must name an Ollama server.`,
    );
  }
  const overflow = status === 400 ? overflowIn(where, said ?? body) : undefined;
  if (overflow !== undefined) return overflow;
  const quoted = clip(said ?? body);
  if (status >= 500 || status === 429 || status === 499) {
    return new ProviderError('unavailable', `Ollama at ${where.host} answered ${status}: ${quoted}`, {
      retryable: true,
    });
  }
  return new ProviderError('bad_request', `Ollama at ${where.host} refused the call (${status}): ${quoted}`);
}

/** The error for an `{"error": …}` line after status 200. */
export function failedMidway(where: Where, error: string): ProviderError {
  const broken = `Ollama broke off its answer: ${clip(error)}`;
  return overflowIn(where, error) ?? new ProviderError('bad_response', broken, { retryable: true });
}

function unknownModel({ host, model }: Where): ProviderError {
  return new ProviderError(
    'unknown_model',
    `Ollama at ${host} has no model "${model}": fetch it with \`ollama pull ${model}\`, or name another.`,
  );
}

/** The text of Ollama's `{"error": "…"}`; undefined when the body is something else. */
function errorText(body: string): string | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
    return typeof value.error === 'string' ? value.error : JSON.stringify(value.error);
  } catch {
    // Not JSON: a proxy's page, or another kind of server. The caller says so.
    return undefined;
  }
}
