/** What an OpenAI-compatible stream must be before the client sees it: server-sent events that end with `[DONE]`. */
import { ProviderError } from '../../contracts/errors.ts';
import type { BodyFilter } from '../exchange.ts';
import { createLineFilter } from '../line-filter.ts';

/**
 * The `openai` package takes the end of a connection for the end of an answer and skips lines it does not know; here
 * both end it as `bad_response`, as does an error told mid-stream (through `failed`, which names it).
 */
export function createEventFilter(failed: (said: string) => ProviderError): BodyFilter {
  let complete = false;
  return createLineFilter({
    get complete() {
      return complete;
    },
    takes(line) {
      const text = line.endsWith('\r') ? line.slice(0, -1) : line;
      // The blank line after an event is what lets the client have it.
      if (text === '') return true;
      // Comments keep a silent connection open; names and ids of events mean nothing here.
      if (complete || /^(:|(event|id|retry):)/.test(text)) return false;
      // Older llama-servers tell an error in a field of its own.
      if (text.startsWith('error:')) throw failed(text.slice('error:'.length).trim());
      if (!text.startsWith('data:')) {
        throw new ProviderError('bad_response', 'The model server sent a line that is no server-sent event.');
      }
      const data = text.slice('data:'.length).trim();
      if (data === '[DONE]') complete = true;
      else if (tellsError(data)) throw failed(data);
      return true;
    },
  });
}

/** Whether an event is an error and not a piece of the answer; only events that may be one are read for it. */
function tellsError(data: string): boolean {
  if (!data.includes('"error"')) return false;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && 'error' in value && Boolean(value.error);
  } catch {
    // Not JSON: the client says so in its turn.
    return false;
  }
}
