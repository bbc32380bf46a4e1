/** The screen about browsers that are signed in by a link: when, last used, and signed out. */
import { confirmDelete } from '../confirm.js';
import { h } from '../dom.js';
import { button, moment, row, rows, section } from './parts.js';

/**
 * @typedef {object} SignIn
 * @property {string} id
 * @property {string} client
 * @property {string} createdAt
 * @property {string} expiresAt
 * @property {string | null} lastUsedAt
 * @property {boolean} isOwn
 */

const PATH = '/v1/sign-ins';

/** @type {import('./parts.js').Screen} */
export async function signInsScreen(host) {
  /** @type {{ signIns: SignIn[] }} */
  const { signIns } = await host.ask('GET', PATH);
  const shown = signIns.map((signIn) => {
    const name = browserOf(signIn.client);
    const end = async () => {
      if (!(await confirmDelete(`Sign out ${name}?`, 'Sign out'))) return;
      await host.act(() => host.ask('DELETE', `${PATH}/${encodeURIComponent(signIn.id)}`));
    };
    const buttons = signIn.isOwn
      ? []
      : [button('Sign out', `${name}, ${aboutTimes(signIn)}`, () => void end(), 'danger')];
    const about = `${aboutTimes(signIn)} · ${signIn.client || 'no name'}`;
    return row(`${name}${signIn.isOwn ? ' (this browser)' : ''}`, about, ...buttons);
  });
  const others = signIns.filter(({ isOwn }) => !isOwn).length;
  const endOthers = async () => {
    if (
      !(await confirmDelete(
        `Sign out ${others === 1 ? 'the other browser' : `all ${others} other browsers`}?`,
        'Sign out',
      ))
    )
      return;
    await host.act(() => host.ask('DELETE', PATH));
  };
  const all =
    others === 0
      ? []
      : [
          h(
            'button',
            { type: 'button', class: 'danger', onclick: () => void endOthers() },
            'Sign out all others',
          ),
        ];
  const note = h('p', { class: 'quiet' }, 'Browsers that signed in with a token are listed under Tokens.');
  return [section('Signed-in browsers', rows(shown, 'No browser is signed in by a link.'), ...all, note)];
}

/** @param {SignIn} signIn */
function aboutTimes({ createdAt, expiresAt, lastUsedAt }) {
  const used = lastUsedAt === null ? 'not used yet' : `last used ${moment(lastUsedAt)}`;
  return `signed in ${moment(createdAt)} · ${used} · ends ${moment(expiresAt)}`;
}

/**
 * The browser and the system that a user agent names, in two words; the most particular name counts.
 * @param {string} client
 */
function browserOf(client) {
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => client.includes(`${name}/`));
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'].find((name) =>
    client.includes(name),
  );
  const names = /** @type {Record<string, string>} */ ({ Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' });
  const known = [browser, system].filter((name) => name !== undefined).map((name) => names[name] ?? name);
  return known.length === 0 ? 'A browser' : known.join(' on ');
}
