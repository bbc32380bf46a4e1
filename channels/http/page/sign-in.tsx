/**
 * Signing in: by a link with a code, or on the word of a proxy, which become a cookie that no script can read and a key
 * without which it is worth nothing; or by a token, which is stored for the tab or for the device, never in an address.
 */
import { type JSX, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, ApiError, type Session } from './api.ts';
import { CHATS_PER_PAGE } from './chats/chat-list.ts';
import { COOKIE_KEY, REASON_KEY, removeToken, TOKEN_KEY } from './credentials.ts';
import { Logo } from './parts/icon.tsx';
import { WithCode } from './parts/with-code.tsx';
import { errorOf, keepPageKey, pageHeader, signWith } from './requests.ts';
import { say } from './texts.ts';

/**
 * The first chats of the list, which the sign-in was tried with; undefined if it was not tried, or the gateway could not
 * say.
 */
type FirstChats = Session[] | undefined;

/** Signs in with the stored token, else the form in this place asks until there is a valid one. */
export async function signIn(place: Element): Promise<FirstChats> {
  const problemOfLink = await useLink();
  if (problemOfLink === undefined && localStorage.getItem(COOKIE_KEY) === 'yes') {
    const { problem, chats } = await tryToken(undefined);
    if (problem?.status !== 401) return chats;
    localStorage.removeItem(COOKIE_KEY);
    // The browser has not kept the cookie of a page in a frame.
    if (isFramed()) return await askForToken(place, say('page.framed'));
  }
  const storedToken = sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY);
  if (storedToken !== null) {
    const { problem, chats } = await tryToken(storedToken);
    if (problem?.status !== 401) return chats;
    removeToken();
    return await askForToken(place, problem.message);
  }
  const problemOfProxy = problemOfLink ?? (await askProxy());
  if (localStorage.getItem(COOKIE_KEY) === 'proxy') {
    signWith(undefined);
    return undefined;
  }
  const reason = problemOfProxy ?? sessionStorage.getItem(REASON_KEY) ?? '';
  sessionStorage.removeItem(REASON_KEY);
  return await askForToken(place, reason);
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

function askForToken(place: Element, reason: string): Promise<FirstChats> {
  return new Promise((resolve) => render(<SignIn reason={reason} finish={resolve} />, place));
}

/** The form; `finish` gets the chats that a valid token may read. */
function SignIn({ reason, finish }: { reason: string; finish: (chats: FirstChats) => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const remember = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState(reason);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const token = field.current?.value.trim() ?? '';
    const { problem: refusal, chats } = await tryToken(token);
    setBusy(false);
    if (refusal === undefined) {
      (remember.current?.checked === true ? localStorage : sessionStorage).setItem(TOKEN_KEY, token);
      finish(chats);
    } else {
      setProblem(refusal.message);
      field.current?.select();
    }
  };
  return (
    <main id="sign-in" class="sign-in">
      <form class="card sign-in-card" onSubmit={(event) => void submit(event)}>
        <Logo size={56} />
        <h1>Parley</h1>
        <p>
          <WithCode text={say('page.sign_in.how')} />
        </p>
        <label for="token">{say('page.sign_in.token')}</label>
        <input
          ref={field}
          id="token"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          required
        />
        <label class="check">
          <input ref={remember} type="checkbox" /> {say('page.sign_in.remember')}
        </label>
        <p class="error-text" role="alert">
          {problem}
        </p>
        <button class="primary" type="submit" disabled={isBusy}>
          {say('page.sign_in.button')}
        </button>
      </form>
    </main>
  );
}

/**
 * Reads the list of chats with a token, which signs all requests from now on.
 * @param token undefined = the cookie
 */
async function tryToken(token: string | undefined): Promise<{ chats?: Session[]; problem?: ApiError }> {
  signWith(token);
  try {
    return { chats: await api.sessions({ limit: CHATS_PER_PAGE }) };
  } catch (error) {
    return { problem: error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error)) };
  }
}
