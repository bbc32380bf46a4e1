/** What Ollama's streams must be before the client sees them: lines, each a JSON object, the last one `done`. */
import { ProviderError } from '../../contracts/errors.ts';
import type { BodyFilter } from '../exchange.ts';
import { createLineFilter } from '../line-filter.ts';

/**
 * The `ollama` package prints garbage lines to the console and goes on; here they end the answer as `bad_response`, as
 * does an `error` line (through `failed`, which names it).
 */
export function createOllamaFilter(failed: (error: string) => ProviderError): BodyFilter {
  let complete = false;
  return createLineFilter({
    get complete() {
      return complete;
    },
    takes(line) {
      if (complete || line.trim() === '') return false;
      const value = parseObject(line);
      if ('error' in value) throw failed(errorText(value.error));
      if ('done' in value && value.done === true) complete = true;
      return true;
    },
  });
}

function parseObject(line: string): object {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw garbage(line, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw garbage(line);
  return value;
}

function garbage(line: string, cause?: unknown): ProviderError {
  const shown = JSON.stringify(line.slice(0, 80));
  return new ProviderError(
    'bad_response',
    `The model server sent a line that is not a JSON object: ${shown}`,
    {
      cause,
    },
  );
}

function errorText(error: unknown): string {
  return typeof error === 'string' ? error : JSON.stringify(error);
}
