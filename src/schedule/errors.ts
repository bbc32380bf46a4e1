/** What keeps a schedule from being made, said to whoever asked for it. */
import { GatewayError } from '../contracts/errors.ts';

/** The message says what to change. */
export function badSchedule(message: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_schedule', message, { cause });
}
