/**
 * Signing in: by a link with a code, which becomes a cookie that no script can read; or by a token, which is stored for the tab
 * or for the device, never in an address.
 */
import { Api, ApiError } from './api.js';
import { byId } from './dom.js';
import { errorOf, FROM_PAGE } from './requests.js';

const TOKEN_KEY = 'parley-token';
/** Says that this browser has a cookie: it cannot be read. */
const COOKIE_KEY = 'parley-signed-in';
const REASON_KEY = 'parley-signed-out-because';

/** Returns an API with a valid token: the stored one, else the form asks until there is one. */
export async function signIn() {
  const problemOfLink = await useLink();
  if (problemOfLink === undefined && localStorage.getItem(COOKIE_KEY) !== null) {
    const api = new Api(undefined);
    const problem = await tokenError(api);
    if (problem === undefined || problem.status !== 401) return api;
    localStorage.removeItem(COOKIE_KEY);
  }
  const kept = sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY);
  if (kept !== null) {
    const api = new Api(kept);
    const problem = await tokenError(api);
    if (problem === undefined || problem.status !== 401) return api;
    removeToken();
    return askForToken(problem.message);
  }
  const why = problemOfLink ?? sessionStorage.getItem(REASON_KEY) ?? '';
  sessionStorage.removeItem(REASON_KEY);
  return askForToken(why);
}

/**
 * Begins a session with the code of the address, if there is one, and takes it out of the address.
 * @returns {Promise<string | undefined>} what is wrong with it
 */
async function useLink() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  history.replaceState(null, '', location.pathname);
  const headers = { ...FROM_PAGE, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ code }) };
  try {
    const response = await fetch('/v1/sign-in', init);
    if (!response.ok) return (await errorOf(response)).message;
  } catch {
    return 'The gateway cannot be reached.';
  }
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
  localStorage.setItem(COOKIE_KEY, 'yes');
  return undefined;
}

/**
 * Removes the token from this device, and ends its session; `why` is shown at the next sign-in.
 * @param {string} [why]
 */
export function removeToken(why) {
  if (localStorage.getItem(COOKIE_KEY) !== null) {
    localStorage.removeItem(COOKIE_KEY);
    // It outlives the page, which is loaded again at once.
    const ended = fetch('/v1/sign-out', { method: 'POST', headers: FROM_PAGE, keepalive: true });
    ended.catch(() => undefined);
  }
  sessionStorage.removeItem(TOKEN_KEY);
  localStorage.removeItem(TOKEN_KEY);
  if (why !== undefined) sessionStorage.setItem(REASON_KEY, why);
}

/**
 * @param {string} why
 * @returns {Promise<Api>}
 */
function askForToken(why) {
  const screen = byId('sign-in', HTMLElement);
  const form = byId('sign-in-form', HTMLFormElement);
  const field = byId('token', HTMLInputElement);
  const button = byId('sign-in-button', HTMLButtonElement);
  const error = byId('sign-in-error', HTMLElement);
  screen.hidden = false;
  error.textContent = why;
  field.focus();
  return new Promise((resolve) => {
    const attempt = async () => {
      button.disabled = true;
      const token = field.value.trim();
      const api = new Api(token);
      const problem = await tokenError(api);
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
      resolve(api);
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void attempt();
    });
  });
}

/**
 * The error of a call with this token; undefined when it succeeds.
 * @param {Api} api
 */
async function tokenError(api) {
  try {
    await api.sessions({ limit: 1 });
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error));
  }
}
