/** What speech servers say about a request that they refuse. */
import { z } from 'zod';
import { clipEnd, oneLine } from '../lib/text.ts';
import { parseJson } from '../lib/json/json.ts';

/** Longest reason of a server that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 200;

/** OpenAI and vLLM, FastAPI (Speaches), whisper.cpp. */
const Reason = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ error: z.string() }).transform(({ error }) => error),
]);

/** The reason as the end of a sentence: `: "…"`; '' if none is given. Never throws. */
export function reasonIn(body: string): string {
  const reason = Reason.safeParse(parseJson(body)).data;
  return reason === undefined ? '' : `: "${clipEnd(oneLine(reason), MAX_REASON_CHARS)}"`;
}
