/** One call of a route that answers, such as `/v1/chat/completions`, and what these routes read and refuse alike. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StatelessMessage } from '../../../../src/protocol/gateway-api.ts';
import type { CallerOptions } from '../../../../src/protocol/agent/provider.ts';
import { type FieldNames, HttpError, sendError } from '../../errors.ts';
import { type HandlerDeps, requestId } from '../../route.ts';
import type { CompletionAnswer } from './completion-answer.ts';
import type { SessionInput } from './completion-messages.ts';

/** One call of the API in the gateway's terms, whichever route it came by. */
export interface ApiCall {
  sessionId: string | undefined;
  /** The end user, as a digest. */
  user: string | undefined;
  model: string;
  stream: boolean;
  options: CallerOptions;
  /** Alternatives to report with each token; undefined = likelihoods are not asked for. */
  topLogprobs?: number | undefined;
  mode?: string | null | undefined;
  /** The whole conversation, without a session. Throws `HttpError` 400. */
  context(): StatelessMessage[];
  /** What is new, in a session. Throws `HttpError` 400. */
  input(): SessionInput;
  /** The caller's system text, in a session. Throws `HttpError` 400. */
  instructions(): string | undefined;
  /**
   * Makes the answer with this id; a stream is already open, so that one too many is refused before a message is
   * accepted.
   */
  open(): (id: string) => CompletionAnswer;
  /** Names of options in this route's body. */
  fieldNames: FieldNames;
}

/** The header that offers the gateway's own tools besides those of the caller. Throws `HttpError` 400. */
export function wantsGatewayTools(incoming: IncomingMessage): boolean {
  const header = incoming.headers['x-gateway-tools'];
  if (header === undefined) return false;
  if (header === 'include') return true;
  throw new HttpError(400, 'unsupported_value', 'X-Gateway-Tools must be "include".', {
    param: 'x-gateway-tools',
  });
}

/** Sends an error instead of an answer; those of the gateway itself are logged. */
export function refuser(outgoing: ServerResponse, deps: HandlerDeps): (error: HttpError) => void {
  return (error) => {
    if (error.status >= 500 || error.code === 'insufficient_quota') {
      const fields = { err: error.cause ?? error, requestId: requestId(outgoing) };
      deps.log.error(fields, 'chat_completion_failed');
    }
    sendError(outgoing, error);
  };
}
