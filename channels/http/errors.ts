/** Errors in OpenAI's shape, with their HTTP status. */
import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../src/contracts/errors.ts';

/** The body of every error answer, and of an error frame in a stream. */
export interface ErrorBody {
  error: { message: string; type: string; code: string; param: string | null };
}

/** An error with an HTTP status; `param` names the invalid field or header. */
export class HttpError extends GatewayError {
  readonly status: number;
  readonly param: string | null;

  constructor(
    status: number,
    code: string,
    message: string,
    details: { param?: string; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(code, message, { ...details, retryable: status === 429 || status === 503 });
    this.status = status;
    this.param = details.param ?? null;
  }
}

/** The error for a session that does not exist or is not the caller's: the two look the same. */
export function noSession(key: string): HttpError {
  return new HttpError(
    404,
    'session_not_found',
    `There is no session "${key.slice(0, 80)}" that this token may see.`,
  );
}

/** HTTP statuses of gateway error codes; any other code is an internal error, 500. */
const STATUS: Record<string, number> = {
  bad_address: 400,
  bad_mode: 400,
  bad_queue_mode: 400,
  bad_request: 400,
  bad_schedule: 400,
  too_many_schedules: 409,
  context_overflow: 400,
  unknown_profile: 400,
  forbidden: 403,
  unknown_model: 404,
  plan_running: 409,
  rate_limited: 429,
  queue_full: 429,
  bad_response: 502,
  unavailable: 503,
  timeout_first_chunk: 504,
  timeout_chunk: 504,
};

/** OpenAI's names of some codes, which its clients check. */
const OPENAI_CODES: Record<string, string> = {
  unknown_model: 'model_not_found',
  context_overflow: 'context_length_exceeded',
};

const PARAMS: Record<string, string> = {
  unknown_model: 'model',
  unknown_profile: 'profileId',
  bad_mode: 'mode',
  bad_queue_mode: 'queueMode',
  plan_running: 'mode',
  context_overflow: 'messages',
};

/** Any error as an `HttpError`; what is not a `GatewayError` reveals no details. Never throws. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (!(error instanceof GatewayError)) return internalError(error);
  const status = STATUS[error.code] ?? (error.retryable ? 503 : undefined);
  if (status === undefined) return internalError(error);
  const param = PARAMS[error.code];
  return new HttpError(status, OPENAI_CODES[error.code] ?? error.code, error.message, {
    cause: error,
    ...(param === undefined ? {} : { param }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

function internalError(cause: unknown): HttpError {
  return new HttpError(500, 'internal', 'Internal error; see the log of the gateway.', {
    cause,
  });
}

/** The error as the body of an answer or an error frame. */
export function errorBody(error: HttpError): ErrorBody {
  return {
    error: { message: error.message, type: typeOf(error.status), code: error.code, param: error.param },
  };
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** `Retry-After` in whole seconds. */
function retryAfter(error: HttpError): string {
  return String(Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000)));
}

/** Writes the error as an answer, unless something was sent already or the client has disconnected. */
export function sendError(outgoing: ServerResponse, error: HttpError): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  outgoing.writeHead(error.status, errorHeaders(error)).end(JSON.stringify(errorBody(error)));
}

/** Headers of an error answer. */
export function errorHeaders(error: HttpError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  if (error.status === 401) headers['www-authenticate'] = 'Bearer';
  if (error.retryable) headers['retry-after'] = retryAfter(error);
  return headers;
}
