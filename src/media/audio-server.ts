/** What requests to speech servers have in common. */
import { z } from 'zod';
import { retryWhile } from '../lib/async/retry.ts';
import { GatewayError, isRetryable } from '../protocol/errors.ts';
import type { TextRef } from '../protocol/texts/say.ts';
import { clipEnd, oneLine } from '../lib/text.ts';
import { parseJson } from '../lib/json/json.ts';

/** Longest reason of a server that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 200;
/** The first wait before a retry, in milliseconds. */
export const RETRY_MS = 1_000;

export interface AudioRequest {
  /** For all attempts together. */
  totalMs: number;
  retryMs: number;
  /** The text about an answer that took too long, and about a failed connection with its code. */
  slow: (minutes: number) => TextRef;
  unreachable: (code: string) => TextRef;
  onRetry: (error: unknown) => void;
}

/** Sends a request, again if it failed. Throws `GatewayError`, or the reason of `signal`. */
export async function askAudioServer<T>(
  { totalMs, retryMs, slow, unreachable, onRetry }: AudioRequest,
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const late = AbortSignal.timeout(totalMs);
  const until = AbortSignal.any([signal, late]);
  const attempt = async (): Promise<T> => {
    try {
      return await ask(until);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
      throw new GatewayError('unavailable', unreachable(code), { retryable: true, cause });
    }
  };
  try {
    return await retryWhile(isRetryable, attempt, until, {
      maxTries: 3,
      baseMs: retryMs,
      capMs: 10_000,
      onRetry,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw late.aborted ? new GatewayError('timeout', slow(Math.ceil(totalMs / 60_000))) : error;
  }
}

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
