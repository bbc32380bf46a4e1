/** Who is using the page: the token, kept for the tab or for the device, never in an address. */
import { Api, ApiError } from './api.js';
import { byId } from './dom.js';

const KEY = 'parley-token';
const WHY = 'parley-signed-out-because';

/** Gives an API with a token that works, asking for one as long as it takes. */
export async function signIn() {
  const kept = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  if (kept !== null) {
    const api = new Api(kept);
    const fault = await faultOf(api);
    if (fault === undefined || fault.status !== 401) return api;
    forgetToken();
    return askForToken(fault.message);
  }
  const why = sessionStorage.getItem(WHY) ?? '';
  sessionStorage.removeItem(WHY);
  return askForToken(why);
}

/**
 * Takes the token off this device; `why` is said at the next sign-in.
 * @param {string} [why]
 */
export function forgetToken(why) {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  if (why !== undefined) sessionStorage.setItem(WHY, why);
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
      const fault = await faultOf(api);
      button.disabled = false;
      if (fault !== undefined) {
        error.textContent = fault.message;
        field.select();
        return;
      }
      const store = byId('remember', HTMLInputElement).checked ? localStorage : sessionStorage;
      store.setItem(KEY, token);
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
 * What keeps this token from working, if anything does.
 * @param {Api} api
 */
async function faultOf(api) {
  try {
    await api.sessions(1);
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error));
  }
}
