/** The error for a schedule that cannot be created. */
import { GatewayError } from '../contracts/errors.ts';
import type { Said } from '../contracts/texts/say.ts';

/** The message says what to change. */
export function badSchedule(message: Said, cause?: unknown): GatewayError {
  return new GatewayError('bad_schedule', message, { cause });
}
