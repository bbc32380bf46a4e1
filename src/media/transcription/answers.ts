/** What a speech-to-text server answers, as a text or as an error that says what to do. */
import { z } from 'zod';
import { GatewayError } from '../../contracts/errors.ts';
import { parsedJson, reasonIn } from '../server-reason.ts';
import type { FormAnswer } from './post-form.ts';

const Transcript = z.object({ text: z.string() });

/** The text of a recording. Throws `GatewayError('bad_response')`. */
export function readTranscript(body: string): string {
  const read = Transcript.safeParse(parsedJson(body));
  if (read.success) return read.data.text;
  throw new GatewayError(
    'bad_response',
    'The speech-to-text server answered with something else than a transcript: check transcription.baseUrl in config.json.',
  );
}

/** The error for an answer with another status than 200. */
export function refusalOf({ status, body, retryAfterMs }: FormAnswer, model: string): GatewayError {
  const said = reasonIn(body);
  if (status === 401 || status === 403)
    return new GatewayError(
      'unauthorized',
      'The speech-to-text server refuses the gateway: check TRANSCRIPTION_API_KEY.',
    );
  if (status === 404)
    return new GatewayError(
      'not_found',
      `The speech-to-text server knows no /audio/transcriptions there, or no model "${model}": check transcription in config.json${said}.`,
    );
  if (status === 413)
    return new GatewayError('too_large', 'The recording is too large for the speech-to-text server.');
  if (status === 429)
    return new GatewayError('rate_limited', 'The speech-to-text server has too much to do just now.', {
      retryable: true,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  if (status >= 500)
    return new GatewayError('unavailable', `The speech-to-text server failed with status ${status}${said}.`, {
      retryable: true,
    });
  if (status >= 400)
    return new GatewayError('unreadable', `The speech-to-text server cannot read this recording${said}.`);
  return new GatewayError(
    'bad_response',
    `The speech-to-text server answered with status ${status}: check transcription.baseUrl in config.json.`,
  );
}

/** The error for a request without an answer. */
export function unreachable(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new GatewayError(
    'unavailable',
    `The speech-to-text server cannot be reached${code}: check transcription.baseUrl in config.json.`,
    { retryable: true, cause },
  );
}
