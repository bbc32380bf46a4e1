/** The screen about tokens: made, shown once, renamed, given another secret, revoked. */
import { askText, confirmDelete } from '../confirm.ts';
import { copyButton, h } from '../dom.ts';
import { button, form, labelled, moment, row, rows, section } from './parts.js';
import { say, sayParts } from '../texts.ts';

/**
 * @typedef {object} Token
 * @property {string} id
 * @property {string} name
 * @property {string[]} scopes
 * @property {string} origin
 * @property {boolean} expired
 * @property {string | null} expiresAt
 * @property {string | null} lastUsedAt
 * @property {boolean} own
 */

const SCOPES = {
  approve: say('page.set.scope_approve'),
  commands: say('page.set.scope_commands'),
  admin: say('page.set.scope_admin'),
};
const ORIGINS = /** @type {Record<string, string>} */ ({
  env: 'GATEWAY_TOKEN',
  file: say('page.set.file_token'),
});

/** @type {import('./parts.js').Screen} */
export async function tokensScreen(host) {
  /** @type {{ tokens: Token[] }} */
  const { tokens } = await host.ask('GET', '/v1/tokens');
  const place = h('div', { role: 'status' });
  const tokenRows = tokens.map((token) => {
    const path = `/v1/tokens/${encodeURIComponent(token.id)}`;
    const rename = async () => {
      const name = await askText(say('page.set.name'), token.name, 100);
      if (name === null || name.trim() === '' || name === token.name) return;
      await host.act(() => host.ask('PATCH', path, { name }));
    };
    const rotate = async () => {
      const question = say('page.set.rotate_ask', { name: token.name });
      if (!(await confirmDelete(question, say('page.set.rotate')))) return;
      /** @type {{ secret: string }} */
      const { secret } = await host.ask('POST', `${path}/rotate`);
      showSecret(host, place, token.name, secret);
    };
    const revoke = async () => {
      if (!(await confirmDelete(say('page.set.revoke_ask', { name: token.name }), say('page.set.revoke'))))
        return;
      await host.act(() => host.ask('DELETE', path));
    };
    const change = button(say('page.set.rotate'), token.name, () => void rotate().catch(host.showError));
    const buttons = [
      button(say('page.row.rename'), token.name, () => void rename()),
      ...(token.own || token.origin in ORIGINS ? [] : [change]),
      ...(token.own ? [] : [button(say('page.set.revoke'), token.name, () => void revoke(), 'danger')]),
    ];
    return row(
      token.own ? say('page.set.this_token', { name: token.name }) : token.name,
      aboutToken(token),
      ...buttons,
    );
  });
  return [
    section(say('page.set.tokens'), place, rows(tokenRows, say('page.set.no_tokens'))),
    section(say('page.set.new_token'), newToken(host)),
  ];
}

/** @param {Token} token */
function aboutToken({ scopes, origin, expired, expiresAt, lastUsedAt }) {
  const usage =
    lastUsedAt === null
      ? [say('page.set.never_used')]
      : sayParts('page.set.last_used', { moment: moment(lastUsedAt) });
  const until = { moment: moment(expiresAt) };
  const expiry = sayParts(expired ? 'page.set.expired' : 'page.set.expires', until);
  const life = expiresAt === null ? [say('page.set.no_expiry')] : expiry;
  const from = ORIGINS[origin];
  const source = from === undefined ? [] : [' · ', say('page.set.from', { from })];
  return [scopes.join(', '), ' · ', ...usage, ' · ', ...life, ...source];
}

/**
 * Shows a secret until it has been kept.
 * @param {import('./parts.js').ScreenHost} host
 * @param {HTMLElement} place
 * @param {string} name
 * @param {string} secret
 */
function showSecret(host, place, name, secret) {
  const confirmButton = h(
    'button',
    { type: 'button', onclick: () => void host.act(async () => undefined) },
    say('page.set.token_saved'),
  );
  place.replaceChildren(
    h('p', {}, say('page.set.token_once', { name })),
    h(
      'p',
      { class: 'settings-secret' },
      h('code', {}, secret),
      copyButton(() => secret, say('page.set.copy_token')),
    ),
    confirmButton,
  );
  place.scrollIntoView({ block: 'nearest' });
}

/** @param {import('./parts.js').ScreenHost} host */
function newToken(host) {
  const name = h('input', { type: 'text', required: true, maxlength: 100, autocomplete: 'off' });
  const days = h('input', { type: 'number', min: 1, max: 3650, placeholder: say('page.set.never') });
  const scopes = Object.entries(SCOPES).map(([scope, description]) => {
    const box = h('input', { type: 'checkbox', value: scope });
    return { box, label: h('label', { class: 'check' }, box, ` ${scope}: ${description}`) };
  });
  const place = h('div', { role: 'status' });
  const make = async () => {
    const body = {
      name: name.value,
      scopes: ['chat', ...scopes.filter(({ box }) => box.checked).map(({ box }) => box.value)],
      ...(days.value !== '' && { expiresInDays: Number(days.value) }),
    };
    /** @type {{ secret: string }} */
    const { secret } = await host.ask('POST', '/v1/tokens', body);
    showSecret(host, place, name.value, secret);
  };
  const submit = () => void make().catch(host.showError);
  const fields = [
    labelled(say('page.set.name'), name),
    labelled(say('page.set.days_left'), days),
    ...scopes.map(({ label }) => label),
  ];
  return h('div', {}, form(say('page.set.create'), submit, ...fields), place);
}
