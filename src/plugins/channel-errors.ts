/** What a plug-in's failures mean for its channel: errors of the contract, and everything else as the outage that it is. */
import {
  ChannelError,
  type ChannelErrorCode,
  type GatewayError,
  toGatewayError,
} from '../protocol/errors.ts';
import { PluginError } from './plugin-frames.ts';

const CODES: readonly ChannelErrorCode[] = [
  'rate_limited',
  'blocked',
  'message_gone',
  'place_gone',
  'bad_markup',
  'chat_moved',
  'unauthorized',
  'conflict',
  'unavailable',
  'outcome_unknown',
  'rejected',
];
/** The same call may succeed later. */
const RETRYABLE: readonly ChannelErrorCode[] = [
  'rate_limited',
  'unauthorized',
  'conflict',
  'unavailable',
  'outcome_unknown',
];

/**
 * The error of a channel; `sends`: the call may have put something on screen before its plug-in ended or fell silent.
 * Errors of the gateway's store keep their kind.
 */
export function toChannelError(cause: unknown, sends: boolean): GatewayError {
  if (cause instanceof PluginError) return stated(cause);
  const error = toGatewayError(cause);
  if (['plugin_ended', 'plugin_slow'].includes(error.code) && sends)
    return new ChannelError('outcome_unknown', error.message, { retryable: true, cause });
  const { retryAfterMs } = error;
  return new ChannelError('unavailable', error.message, {
    retryable: true,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** What the plug-in says itself. */
function stated(cause: PluginError): ChannelError {
  const code = CODES.find((one) => one === cause.code) ?? 'unavailable';
  const { retryAfterMs, movedTo } = cause;
  return new ChannelError(code, cause.message, {
    retryable: RETRYABLE.includes(code),
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(movedTo !== undefined && { movedTo }),
  });
}
