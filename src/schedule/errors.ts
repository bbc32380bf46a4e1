/** The error for a schedule that cannot be created. */
import { GatewayError } from '../protocol/errors.ts';
import type { TextRef } from '../protocol/texts/say.ts';

/** The message says what to change. */
export function badSchedule(message: TextRef, cause?: unknown): GatewayError {
  return new GatewayError('bad_schedule', message, { cause });
}
