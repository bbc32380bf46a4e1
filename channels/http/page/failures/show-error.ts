/** Errors that belong to no message: a note at the edge of the page for a while, each once. */
import { ApiError } from '../api.ts';
import { byId } from '../dom.ts';
import { toast } from '../parts/toast.tsx';
import { removeToken } from '../sign-in.ts';
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
  if (
    error instanceof ApiError &&
    error.isUnreachable &&
    connectionLost.value &&
    !byId('chat', HTMLElement).hidden
  )
    return;
  toast(messageOf(error), { isError: true });
}
