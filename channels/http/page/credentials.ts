/** What this browser keeps of a sign-in, and forgets. */
import { keepPageKey, pageHeader } from './requests.ts';

/** The token, for the tab or for the device. */
export const TOKEN_KEY = 'parley-token';
/** Says that this browser has a cookie, which cannot be read: `yes` by a link, `proxy` on the word of a proxy. */
export const COOKIE_KEY = 'parley-signed-in';
/** Why the last sign-in ended. */
export const REASON_KEY = 'parley-signed-out-because';

/** Removes the token from this device, and ends its session; `reason` is shown at the next sign-in. */
export function removeToken(reason?: string): void {
  if (localStorage.getItem(COOKIE_KEY) !== null) {
    localStorage.removeItem(COOKIE_KEY);
    // It outlives the page, which is loaded again at once.
    const signOut = fetch('/v1/sign-out', { method: 'POST', headers: pageHeader(), keepalive: true });
    keepPageKey(undefined);
    signOut.catch(() => undefined);
  }
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
  if (reason !== undefined) sessionStorage.setItem(REASON_KEY, reason);
}
