/** What a plug-in's failures mean for its channel: errors of the contract, and everything else as the outage that it is. */
import { ChannelError, type ChannelErrorCode, GatewayError, toGatewayError } from '../protocol/errors.ts';
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
export function toChannelError(thrown: unknown, sends: boolean): GatewayError {
  if (thrown instanceof PluginError) return stated(thrown);
  const error = toGatewayError(thrown);
  if (['plugin_ended', 'plugin_slow'].includes(error.code) && sends)
    return new ChannelError('outcome_unknown', error.message, { retryable: true, cause: thrown });
  const { retryAfterMs } = error;
  return new ChannelError('unavailable', error.message, {
    retryable: true,
    cause: thrown,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** What the plug-in says itself. */
function stated(thrown: PluginError): ChannelError {
  const code = CODES.find((one) => one === thrown.code) ?? 'unavailable';
  const { retryAfterMs, movedTo } = thrown;
  return new ChannelError(code, thrown.message, {
    retryable: RETRYABLE.includes(code),
    cause: thrown,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(movedTo !== undefined && { movedTo }),
  });
}
