/** The screen about tokens: made, shown once, revoked. */
import { confirmDelete } from '../confirm.js';
import { copyButton, h } from '../dom.js';
import { button, form, labelled, moment, row, rows, section } from './parts.js';

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
  approve: 'decide approvals of its own sessions',
  commands: 'use commands',
  admin: 'everything, in every session',
};
const ORIGINS = /** @type {Record<string, string>} */ ({ env: 'GATEWAY_TOKEN', file: 'the file token' });

/** @type {import('./parts.js').Screen} */
export async function tokensScreen(host) {
  /** @type {{ tokens: Token[] }} */
  const { tokens } = await host.ask('GET', '/v1/tokens');
  const shown = tokens.map((token) => {
    const revoke = async () => {
      if (
        !(await confirmDelete(`Revoke the token “${token.name}”? Whoever uses it is signed out.`, 'Revoke'))
      )
        return;
      await host.act(() => host.ask('DELETE', `/v1/tokens/${encodeURIComponent(token.id)}`));
    };
    const buttons = token.own ? [] : [button('Revoke', token.name, () => void revoke(), 'danger')];
    return row(`${token.name}${token.own ? ' (this one)' : ''}`, aboutToken(token), ...buttons);
  });
  return [section('Tokens', rows(shown, 'There are no tokens.')), section('New token', newToken(host))];
}

/** @param {Token} token */
function aboutToken({ scopes, origin, expired, expiresAt, lastUsedAt }) {
  const used = lastUsedAt === null ? 'never used' : `last used ${moment(lastUsedAt)}`;
  const life =
    expiresAt === null ? 'does not expire' : `${expired ? 'expired' : 'expires'} ${moment(expiresAt)}`;
  const from = ORIGINS[origin];
  return [scopes.join(', '), used, life, ...(from === undefined ? [] : [`from ${from}`])].join(' · ');
}

/** @param {import('./parts.js').ScreenHost} host */
function newToken(host) {
  const name = h('input', { type: 'text', required: true, maxlength: 100, autocomplete: 'off' });
  const days = h('input', { type: 'number', min: 1, max: 3650, placeholder: 'never' });
  const scopes = Object.entries(SCOPES).map(([scope, what]) => {
    const box = h('input', { type: 'checkbox', value: scope });
    return { box, label: h('label', { class: 'check' }, box, ` ${scope}: ${what}`) };
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
    const done = h(
      'button',
      { type: 'button', onclick: () => void host.act(async () => undefined) },
      'I have kept it',
    );
    place.replaceChildren(
      h('p', {}, `The token “${name.value}”, shown only this once:`),
      h(
        'p',
        { class: 'settings-secret' },
        h('code', {}, secret),
        copyButton(() => secret, 'Copy the token'),
      ),
      done,
    );
  };
  const submit = () => void make().catch((error) => host.act(() => Promise.reject(error)));
  const fields = [
    labelled('Name', name),
    labelled('Days until it expires', days),
    ...scopes.map(({ label }) => label),
  ];
  return h('div', {}, form('Create', submit, ...fields), place);
}
