/** What a speech-to-text server answers, as a text or as an error that says what to do. */
import { z } from 'zod';
import { GatewayError } from '../../contracts/errors.ts';
import { reasonIn } from '../server-reason.ts';
import type { Transcript } from '../../contracts/media.ts';
import type { FormAnswer } from './post-form.ts';
import { textRef } from '../../contracts/texts/say.ts';
import { parseJson } from '../../lib/json/json.ts';

const Spoken = z.looseObject({ text: z.string() });

/** What is said in a recording. Throws `GatewayError('bad_response')`. */
export function readTranscript(body: string): Transcript {
  const read = Spoken.safeParse(parseJson(body));
  if (read.success) return read.data;
  throw new GatewayError('bad_response', textRef('hear.no_transcript'));
}

/** The error for an answer with a status other than 200. */
export function refusalOf({ status, body, retryAfterMs }: FormAnswer, model: string): GatewayError {
  const reason = reasonIn(body);
  if (status === 401 || status === 403) return new GatewayError('unauthorized', textRef('hear.unauthorized'));
  if (status === 404) return new GatewayError('not_found', textRef('hear.not_found', { model, reason }));
  if (status === 413) return new GatewayError('too_large', textRef('hear.refused_large'));
  if (status === 429)
    return new GatewayError('rate_limited', textRef('hear.busy'), {
      retryable: true,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  if (status >= 500)
    return new GatewayError('unavailable', textRef('hear.broken', { status, reason }), {
      retryable: true,
    });
  if (status >= 400) return new GatewayError('unreadable', textRef('hear.unreadable', { reason }));
  return new GatewayError('bad_response', textRef('hear.odd_status', { status }));
}

/** The error for a request without an answer. */
export function unreachable(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new GatewayError('unavailable', textRef('hear.unreachable', { reason: code }), {
    retryable: true,
    cause,
  });
}
