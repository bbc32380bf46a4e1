/** What goes wrong with the keys of the bot's device, for operators and for whoever tries again. */
import { DecryptionErrorCode } from '@matrix-org/matrix-sdk-crypto-wasm';
import { type ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';

/** What the operator must do when the keys of the device are not here. */
export const LOGGED_IN_ANEW =
  'The keys of this Matrix device are not in this database, or are sealed for another token: log the bot in again (docs/matrix.md) and set MATRIX_TOKEN to the new access token.';

/** The failures of events whose key may still arrive. */
export const MISSING_KEY: ReadonlySet<DecryptionErrorCode> = new Set([
  DecryptionErrorCode.MissingRoomKey,
  DecryptionErrorCode.UnknownMessageIndex,
]);

/** A failure of the machine itself, which is tried again. */
export function failureOf(error: unknown): ChannelError {
  return channelUnavailable('The encryption of Matrix failed; trying again.', error);
}
