/**
 * Signing in: by a link with a code, or on the word of a proxy, which become a cookie that no script can read and a key
 * without which it is worth nothing; or by a token, which is stored for the tab or for the device, never in an address.
 */
import { Api, ApiError, type Session } from './api.ts';
import { CHATS_PER_PAGE } from './chats/chat-list.ts';
import { byId } from './dom.ts';
import { errorOf, keepPageKey, pageHeader } from './requests.ts';
import { say } from './texts.ts';

const TOKEN_KEY = 'parley-token';
/**
 * Says that this browser has a cookie, which cannot be read: `yes` by a link, `proxy` on the word of a proxy.
 */
const COOKIE_KEY = 'parley-signed-in';
const REASON_KEY = 'parley-signed-out-because';

/**
 * Who is signed in. The first chats of the list are what the token was tried with; undefined if it was not tried, or
 * the gateway could not say.
 */
interface SignedIn {
  api: Api;
  chats?: Session[];
}

/** Signs in with the stored token, else the form asks until there is a valid one. */
export async function signIn(): Promise<SignedIn> {
  const problemOfLink = await useLink();
  if (problemOfLink === undefined && localStorage.getItem(COOKIE_KEY) === 'yes') {
    const { problem, ...signedIn } = await tryToken(undefined);
    if (problem?.status !== 401) return signedIn;
    localStorage.removeItem(COOKIE_KEY);
    // The browser has not kept the cookie of a page in a frame.
    if (isFramed()) return askForToken(say('page.framed'));
  }
  const storedToken = sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY);
  if (storedToken !== null) {
    const { problem, ...signedIn } = await tryToken(storedToken);
    if (problem?.status !== 401) return signedIn;
    removeToken();
    return askForToken(problem.message);
  }
  const problemOfProxy = problemOfLink ?? (await askProxy());
  if (localStorage.getItem(COOKIE_KEY) === 'proxy') return { api: new Api(undefined) };
  const reason = problemOfProxy ?? sessionStorage.getItem(REASON_KEY) ?? '';
  sessionStorage.removeItem(REASON_KEY);
  return askForToken(reason);
}

/**
 * Begins a session with what the address has for that, a code or what a network has signed, and removes it from there.
 * @returns what is wrong with it
 */
async function useLink(): Promise<string | undefined> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  // Telegram opens a Mini App with this.
  const data = new URLSearchParams(location.hash.slice(1)).get('tgWebAppData');
  if (code === undefined && data === null) return undefined;
  // The query says that the page may be framed.
  history.replaceState(null, '', location.pathname + location.search);
  const headers = { ...pageHeader(), 'content-type': 'application/json' };
  const body = data === null ? { code } : { data, framed: isFramed() };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  try {
    const response = await fetch(data === null ? '/v1/sign-in' : '/v1/sign-in/app', init);
    if (!response.ok) return (await errorOf(response)).message;
    const { pageKey }: { pageKey: string } = await response.json();
    keepPageKey(pageKey);
  } catch {
    return say('page.unreachable');
  }
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
  localStorage.setItem(COOKIE_KEY, 'yes');
  return undefined;
}

/** True if the page is shown inside another, as a network's web page does. */
function isFramed(): boolean {
  return window.top !== window;
}

/**
 * Begins or keeps the session of the user whom a proxy in front of the gateway has let in.
 * @returns what is wrong with it; undefined also if there is no such proxy
 */
async function askProxy(): Promise<string | undefined> {
  localStorage.removeItem(COOKIE_KEY);
  try {
    const response = await fetch('/v1/sign-in/proxy', { method: 'POST', headers: pageHeader() });
    if (!response.ok) return (await errorOf(response)).message;
    const { signedIn, pageKey }: { signedIn: boolean; pageKey?: string } = await response.json();
    keepPageKey(pageKey);
    if (signedIn) localStorage.setItem(COOKIE_KEY, 'proxy');
    return undefined;
  } catch {
    return say('page.unreachable');
  }
}

/** Removes the token from this device, and ends its session; `reason` is shown at the next sign-in. */
export function removeToken(reason?: string) {
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

function askForToken(reason: string): Promise<SignedIn> {
  const screen = byId('sign-in', HTMLElement);
  const form = byId('sign-in-form', HTMLFormElement);
  const field = byId('token', HTMLInputElement);
  const button = byId('sign-in-button', HTMLButtonElement);
  const error = byId('sign-in-error', HTMLElement);
  screen.hidden = false;
  error.textContent = reason;
  field.focus();
  return new Promise((resolve) => {
    const attempt = async () => {
      button.disabled = true;
      const token = field.value.trim();
      const { problem, ...signedIn } = await tryToken(token);
      button.disabled = false;
      if (problem !== undefined) {
        error.textContent = problem.message;
        field.select();
        return;
      }
      const store = byId('remember', HTMLInputElement).checked ? localStorage : sessionStorage;
      store.setItem(TOKEN_KEY, token);
      field.value = '';
      screen.hidden = true;
      resolve(signedIn);
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void attempt();
    });
  });
}

/**
 * Reads the list of chats with a token.
 * @param token undefined = the cookie
 */
async function tryToken(token: string | undefined): Promise<SignedIn & { problem?: ApiError }> {
  const api = new Api(token);
  try {
    return { api, chats: await api.sessions({ limit: CHATS_PER_PAGE }) };
  } catch (error) {
    return { api, problem: error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error)) };
  }
}
