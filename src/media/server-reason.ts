/** What servers of speech say of a request that they refuse. */
import { z } from 'zod';
import { oneLine } from '../lib/text.ts';

/** Longest reason of a server that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 200;

/** OpenAI and vLLM, FastAPI (Speaches), whisper.cpp. */
const Reason = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ error: z.string() }).transform(({ error }) => error),
]);

/** The reason as the end of a sentence: `: "…"`; '' where none is given. Never throws. */
export function reasonIn(body: string): string {
  const reason = Reason.safeParse(parsedJson(body)).data;
  return reason === undefined ? '' : `: "${clip(oneLine(reason))}"`;
}

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: no schema accepts it.
    return undefined;
  }
}

function clip(text: string): string {
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…`.toWellFormed() : text;
}
