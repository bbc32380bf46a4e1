/** The screen about browsers that are signed in by a link: when, last used, and signed out. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, moment, row, rows, section } from './parts.js';
import { dayAndClock, say, sayParts } from '../texts.ts';

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
  const signInRows = signIns.map((signIn) => {
    const name = browserOf(signIn.client);
    const end = async () => {
      if (!(await confirmDelete(say('page.set.sign_out_of', { name }), say('page.sign_out')))) return;
      await host.act(() => host.ask('DELETE', `${PATH}/${encodeURIComponent(signIn.id)}`));
    };
    const buttons = signIn.isOwn
      ? []
      : [
          button(
            say('page.sign_out'),
            `${name}, ${dayAndClock(signIn.createdAt)}`,
            () => void end(),
            'danger',
          ),
        ];
    const about = [...aboutTimes(signIn), ' · ', signIn.client || say('page.set.no_name')];
    return row(signIn.isOwn ? say('page.set.this_browser', { name }) : name, about, ...buttons);
  });
  const others = signIns.filter(({ isOwn }) => !isOwn).length;
  const endOthers = async () => {
    if (!(await confirmDelete(say('page.set.sign_out_others', { count: others }), say('page.sign_out'))))
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
            say('page.set.sign_out_all'),
          ),
        ];
  const note = h('p', { class: 'quiet' }, say('page.set.sign_ins_tokens'));
  return [section(say('page.set.signed_in'), rows(signInRows, say('page.set.no_sign_ins')), ...all, note)];
}

/** @param {SignIn} signIn */
function aboutTimes({ createdAt, expiresAt, lastUsedAt }) {
  const usage =
    lastUsedAt === null
      ? say('page.set.unused')
      : h('span', {}, ...sayParts('page.set.last_used', { moment: moment(lastUsedAt) }));
  return sayParts('page.set.sign_in_about', {
    since: moment(createdAt),
    used: usage,
    until: moment(expiresAt),
  });
}

/**
 * The browser and the system that a user agent names, in two words; the most specific name counts.
 * @param {string} client
 */
function browserOf(client) {
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => client.includes(`${name}/`));
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'].find((name) =>
    client.includes(name),
  );
  const names = /** @type {Record<string, string>} */ ({ Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' });
  const labels = [browser, system].filter((name) => name !== undefined).map((name) => names[name] ?? name);
  return labels.length === 0
    ? say('page.set.a_browser')
    : browser === undefined || system === undefined
      ? labels.join('')
      : say('page.set.browser_on', { browser: labels[0] ?? '', system: labels[1] ?? '' });
}
