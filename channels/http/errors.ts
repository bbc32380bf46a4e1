/** Errors in OpenAI's shape, with their HTTP status. */
import type { ServerResponse } from 'node:http';
import type { Caller } from '../../src/protocol/access.ts';
import {
  type ErrorReader,
  FieldError,
  GatewayError,
  readerOf,
  wordError,
} from '../../src/protocol/errors.ts';
import type { TurnEndReason } from '../../src/protocol/event.ts';
import type { TurnFailure } from '../../src/protocol/store/records.ts';
import type { TextRef } from '../../src/protocol/texts/say.ts';

/** The body of every error answer, and of an error frame in a stream. */
export interface ErrorBody {
  error: {
    message: string;
    type: string;
    code: string;
    param: string | null;
    /** Of files with several: what the message says in English, as texts for a reader of another language. */
    problems?: readonly TextRef[];
  };
}

/** An error with an HTTP status; `param` names the invalid field or header. */
export class HttpError extends GatewayError {
  readonly status: number;
  readonly param: string | null;
  /** False when the same request must not be repeated automatically: its message is kept, and its turn has ended. */
  readonly mayRepeat: boolean;
  /** What is wrong, as texts for a reader: the message has them in English. */
  readonly problems: readonly TextRef[] | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    details: {
      param?: string | undefined;
      retryAfterMs?: number | undefined;
      mayRepeat?: false;
      problems?: readonly TextRef[];
      cause?: unknown;
    } = {},
  ) {
    super(code, message, { ...details, retryable: status === 429 || status === 503 });
    this.status = status;
    this.param = details.param ?? null;
    this.mayRepeat = details.mayRepeat ?? true;
    this.problems = details.problems;
  }
}

/** The error for a session that does not exist or is not the caller's: the two look the same. */
export function noSession(key: string): HttpError {
  const text = `There is no session "${key.slice(0, 80)}" that this token may see.`;
  return new HttpError(404, 'session_not_found', text);
}

/** The error for an `Idempotency-Key` that came with another request before. */
export function otherRequest(): HttpError {
  const text = 'This Idempotency-Key was used with another request. Send a new key with a new request.';
  return new HttpError(422, 'idempotency_key_reused', text, { param: 'idempotency-key' });
}

/** The error for a request that comes before the gateway has started. */
export function notReady(): HttpError {
  return new HttpError(503, 'not_ready', 'The gateway is still starting; see /readyz.');
}

/** The error for a parameter of the query that must be something else. */
export function badQuery(param: string, requirement: string): HttpError {
  return new HttpError(400, 'invalid_query', `"${param}" must be ${requirement}.`, { param });
}

/** Of gateway error codes: the status, the invalid field, and OpenAI's name. Any other code is an internal error, 500. */
const CODES: Readonly<Record<string, [status: number, param?: string, openAi?: string]>> = {
  bad_address: [400],
  bad_code: [400],
  bad_config: [400],
  bad_channel: [400],
  bad_grant: [400],
  bad_path: [400],
  empty_file: [400],
  file_not_found: [404],
  file_too_large: [413],
  storage_full: [507],
  unreadable_file: [400, 'messages'],
  bad_url: [400, 'url'],
  bad_name: [400, 'file'],
  bad_mode: [400, 'mode'],
  bad_queue_mode: [400, 'queueMode'],
  bad_title: [400, 'title'],
  bad_token: [409],
  message_not_found: [404, 'seq'],
  not_changed: [409],
  not_waiting: [409],
  not_replayable: [409],
  turn_not_ended: [409],
  turn_too_large: [413],
  too_many_marks: [409],
  not_asked: [409],
  too_many_questions: [429],
  session_not_found: [404, 'session'],
  not_linked: [404],
  not_linkable: [409],
  unknown_code: [404],
  code_expired: [410],
  code_used: [409],
  too_many_surfaces: [409],
  not_editable: [403],
  empty_message: [400, 'content'],
  bad_request: [400],
  bad_schedule: [400],
  bad_subscription: [400, 'endpoint'],
  too_many_subscriptions: [409],
  too_many_schedules: [409],
  context_overflow: [400, 'messages', 'context_length_exceeded'],
  message_too_large: [400, 'messages', 'context_length_exceeded'],
  window_too_small: [400, 'messages', 'context_length_exceeded'],
  unknown_profile: [400, 'profileId'],
  forbidden: [403],
  unknown_model: [404, 'model', 'model_not_found'],
  plan_running: [409, 'mode'],
  already_running: [409],
  plan_changed: [409],
  plan_unchanged: [409],
  plan_started: [409],
  plan_busy: [409],
  planning_off: [409],
  not_an_http_session: [400],
  rate_limited: [429, undefined, 'rate_limit_exceeded'],
  quota_exceeded: [429, undefined, 'insufficient_quota'],
  queue_full: [429],
  bad_tool_results: [400],
  no_tools_pending: [409],
  // The model server refused the gateway's own key: nothing the caller sent is wrong.
  unauthorized: [502, undefined, 'model_server_unauthorized'],
  bad_response: [502],
  invalid_answer: [502],
  unavailable: [503],
  out_of_memory: [503],
  timeout_first_chunk: [504],
  timeout_chunk: [504],
};

/** The model server refuses the gateway; only its operator can change that, so repeating the request is useless. */
const REFUSES_GATEWAY = new Set(['quota_exceeded', 'unauthorized']);

/** The names that fields of the contracts have in the body of a route. */
export type FieldNames = Readonly<Record<string, string>>;

/** Any error as an `HttpError`, worded for its reader; only a `GatewayError` reveals details. Never throws. */
export function toHttpError(
  error: unknown,
  reader: ErrorReader = 'person',
  fieldNames: FieldNames = {},
): HttpError {
  if (error instanceof HttpError) return error;
  if (!(error instanceof GatewayError)) return internalError(error);
  if (error instanceof FieldError) {
    const param = fieldNames[error.field] ?? error.field;
    const text = `"${param}" is not supported here: ${error.message}.`;
    return new HttpError(400, error.code, text, { param, cause: error });
  }
  const [status = error.retryable ? 503 : undefined, param, openAi = error.code] = CODES[error.code] ?? [];
  if (status === undefined) return internalError(error);
  return new HttpError(status, openAi, wordError(error, reader), {
    cause: error,
    ...(REFUSES_GATEWAY.has(error.code) && { mayRepeat: false }),
    param,
    retryAfterMs: error.retryAfterMs,
  });
}

/** The error for a turn that failed or was interrupted; no retry, because a repeated request would add a message. */
export function endedTurn(
  reason: TurnEndReason,
  explanation: string,
  failure: TurnFailure | undefined,
): HttpError {
  const message = explanation || 'The turn ended without an answer; its session has the details.';
  const { code = '', retryAfterMs } = failure ?? {};
  const [status, param, openAi = code] = CODES[code] ?? [];
  if (status === undefined) {
    return new HttpError(502, `turn_${reason}`, message, { mayRepeat: false });
  }
  return new HttpError(status, openAi, message, { mayRepeat: false, param, retryAfterMs });
}

/** How an error is worded for a caller; undefined for one who is not identified yet. */
export function callerReader(caller: Caller | undefined): ErrorReader {
  return readerOf({ owner: caller?.scopes.includes('admin') ?? false, place: 'private' });
}

function internalError(cause: unknown): HttpError {
  return new HttpError(500, 'internal', 'Internal error; see the log of the gateway.', { cause });
}

/** The body of an error answer on this path, in the shape of OpenAI, or of Ollama below `/api/`. */
export function bodyOf(error: HttpError, path: string): ErrorBody | { error: string } {
  return path.startsWith('/api/') ? { error: error.message } : errorBody(error);
}

/** The error as the body of an answer or an error frame, in OpenAI's shape. */
export function errorBody(error: HttpError): ErrorBody {
  const { message, status, code, param, problems } = error;
  return { error: { message, type: typeOf(status), code, param, ...(problems && { problems }) } };
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

function retryAfter(error: HttpError): string {
  return String(Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000)));
}

/** Writes the error as an answer, unless something was sent already or the client has disconnected. */
export function sendError(outgoing: ServerResponse, error: HttpError): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  const body = JSON.stringify(bodyOf(error, outgoing.req.url ?? ''));
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  outgoing.writeHead(error.status, { ...errorHeaders(error), ...length }).end(body);
}

/** The error as a whole answer on this path. */
export function answerError(error: HttpError, path = ''): Response {
  return new Response(JSON.stringify(bodyOf(error, path)), {
    status: error.status,
    headers: errorHeaders(error),
  });
}

function errorHeaders(error: HttpError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  if (error.status === 401) headers['www-authenticate'] = 'Bearer';
  if (error.retryAfterMs !== undefined || (error.retryable && error.mayRepeat))
    headers['retry-after'] = retryAfter(error);
  // OpenAI's clients obey it. They also repeat a request after 409, which changes nothing here.
  if (!error.mayRepeat || error.status === 409) headers['x-should-retry'] = 'false';
  return headers;
}
