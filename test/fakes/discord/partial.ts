/** Objects with only the members that a test calls. */
import type { DiscordRest, RestCall } from '../../../channels/discord/rest.ts';

/** Anything but these members is missing, and a use of it fails the test. */
export function partial<T>(members: Partial<T>): T {
  return members as T;
}

/** Discord's REST API, as far as `call` answers it. */
export function restOf(call: (call: RestCall) => Promise<unknown>): DiscordRest {
  const get: DiscordRest['get'] = (path, bucket, signal) => call({ method: 'get', path, bucket, signal });
  return partial<DiscordRest>({ call, get });
}
