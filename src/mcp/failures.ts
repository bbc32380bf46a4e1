/** What the official client's errors mean: whether a connection is lost, and what people read. */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { BROKEN_ANSWER } from './broken-answer.ts';

/** The client's errors for a request whose connection has ended. */
const ENDED: readonly string[] = [
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
];
/** The client's errors for a result that it does not accept. */
const NOT_ACCEPTED: readonly string[] = [SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType];
/** Its errors without a class of their own, for a request that it could not send. */
const CONNECTION_GONE = /^(Not connected|Error POSTing to endpoint)/;

/** True if the server may just not understand the question which protocol it speaks, which comes before its introduction. */
export function knowsNoProbe(error: unknown): boolean {
  if (!(error instanceof SdkError)) return false;
  if (error instanceof SdkHttpError) return error.status >= 500;
  return error.code === SdkErrorCode.EraNegotiationFailed || error.code === SdkErrorCode.RequestTimeout;
}

/** Why a failed request means that the connection is lost; undefined if it is not. */
export function lossOf(error: unknown): string | undefined {
  if (error instanceof ProtocolError) return undefined;
  // The server has forgotten the session, for example after a restart.
  if (error instanceof SdkHttpError)
    return error.status === 404 || error.status === 400 ? messageOf(error) : undefined;
  if (error instanceof SdkError) return ENDED.includes(error.code) ? messageOf(error) : undefined;
  if (!(error instanceof Error)) return undefined;
  const ofNetwork = error instanceof GatewayError || ('code' in error && typeof error.code === 'string');
  return ofNetwork || CONNECTION_GONE.test(error.message) ? messageOf(error) : undefined;
}

/** Any error of connecting, as the gateway's own. */
export function unavailable(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('unavailable', messageOf(error), { cause: error, retryable: true });
}

/** The error message, for operators. */
export function messageOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 401 || status === 403) {
    return `The server refused the credentials (status ${status}): check "headers", or remove them and sign in with "${PARLEY} mcp login".`;
  }
  if (error instanceof GatewayError) return error.message;
  if (isBroken(error)) return 'The server sent an answer that does not follow the protocol.';
  if (error instanceof SdkError && ENDED.includes(error.code))
    return 'The connection ended before the answer came.';
  // The client's own codes are names of its errors; those of the network say more than their texts.
  const code =
    error instanceof Error &&
    !(error instanceof SdkError) &&
    'code' in error &&
    typeof error.code === 'string'
      ? ` (${error.code})`
      : '';
  return `${toGatewayError(error).message}${code}`;
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status;
  return error instanceof SseError ? error.code : undefined;
}

function isBroken(error: unknown): boolean {
  if (error instanceof SdkError) return NOT_ACCEPTED.includes(error.code);
  return (
    error instanceof z.core.$ZodError || (error instanceof ProtocolError && error.code === BROKEN_ANSWER)
  );
}
