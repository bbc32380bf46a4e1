/** The error for a schedule that cannot be made. */
import { GatewayError } from '../contracts/errors.ts';

/** The message says what to change. */
export function badSchedule(message: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_schedule', message, { cause });
}
