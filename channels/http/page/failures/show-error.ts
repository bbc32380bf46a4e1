/** Errors that belong to no message: a note at the edge of the page for a while, each once. */
import { ApiError } from '../api.ts';
import { byId, h } from '../dom.ts';
import { removeToken } from '../sign-in.ts';
import { connectionLost } from './reachability.ts';
import { messageOf } from './in-place.ts';

const TOAST_MS = 6_000;

/** When the note of a text goes. */
const timers = new Map<string, ReturnType<typeof setTimeout>>();

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
  const text = messageOf(error);
  const timer = timers.get(text);
  if (timer !== undefined) clearTimeout(timer);
  else byId('toasts', HTMLElement).append(h('p', { class: 'toast' }, text));
  timers.set(
    text,
    setTimeout(() => remove(text), TOAST_MS),
  );
}

function remove(text: string): void {
  timers.delete(text);
  for (const toast of byId('toasts', HTMLElement).children) if (toast.textContent === text) toast.remove();
}
