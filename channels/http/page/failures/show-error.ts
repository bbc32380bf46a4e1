/** Errors that belong to no message: a note at the edge of the page for a while, each once. */
import { ApiError } from '../api.ts';
import { removeToken } from '../credentials.ts';
import { route } from '../navigation.ts';
import { toast } from '../parts/toast.tsx';
import { connectionLost } from './reachability.ts';
import { messageOf } from './in-place.ts';

/**
 * Shows an error. A revoked token leads back to the sign-in, which says why; that the gateway cannot be reached is said by its
 * banner. One cause often fails several requests at once: their text is shown once.
 */
export function showError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) {
    removeToken(error.message);
    location.reload();
    return;
  }
  const isSaid = error instanceof ApiError && error.isUnreachable && connectionLost.value;
  // The banner belongs to the chat.
  if (isSaid && !('settings' in (route.peek() ?? {}))) return;
  toast(messageOf(error), { isError: true });
}

/** Does work that nothing waits for, and shows its error. */
export function run(work: Promise<unknown>): void {
  work.catch(showError);
}
