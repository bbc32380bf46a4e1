/** The screen about people: who asks to write, who may, and who are owners. */
import { confirmDelete } from '../confirm.js';
import { h } from '../dom.js';
import { button, choice, form, labelled, moment, row, rows, section } from './parts.js';

/**
 * @typedef {object} Access
 * @property {{ channel: string, senderId: string, senderName?: string, expiresAt: string }[]} pairings
 * @property {{ channel: string, kind: 'dm' | 'group' | 'owner' | 'guild' | 'role', id: string, grantedAt: string }[]} grants
 * @property {{ name: string, label: string, idHint: string, owners: string[], allowed: string[] }[]} channels
 */

const KINDS = {
  dm: 'may write privately',
  group: 'group in which the bot answers',
  owner: 'owner',
  guild: 'server whose people are answered',
  role: 'role whose people are answered',
};

/** @type {import('./parts.js').Screen} */
export async function accessScreen(host) {
  /** @type {Access} */
  const { pairings, grants, channels } = await host.ask('GET', '/v1/access');
  const asking = pairings.map(({ channel, senderId, senderName, expiresAt }) =>
    row(`${senderName ?? senderId} (${channel} ${senderId})`, `asks until ${moment(expiresAt)}`),
  );
  const allowed = grants.map((grant) => {
    const name = `${grant.channel} ${grant.id}`;
    const path = `/v1/access/grants/${encodeURIComponent(grant.channel)}/${grant.kind}/${encodeURIComponent(grant.id)}`;
    const remove = async () => {
      if (!(await confirmDelete(`Take this right from ${name}: ${KINDS[grant.kind]}?`, 'Remove'))) return;
      await host.act(() => host.ask('DELETE', path));
    };
    const about = `${KINDS[grant.kind]}, since ${moment(grant.grantedAt)}`;
    return row(
      name,
      about,
      button('Remove', `${name}, ${KINDS[grant.kind]}`, () => void remove(), 'danger'),
    );
  });
  const named = channels.flatMap(({ label, owners, allowed: ids }) => [
    ...owners.map((id) => row(`${label} ${id}`, 'owner, by config.json')),
    ...ids
      .filter((id) => !owners.includes(id))
      .map((id) => row(`${label} ${id}`, 'may write privately, by config.json')),
  ]);
  return [
    section('Requests', rows(asking, 'Nobody asks for access.'), approveForm(host)),
    section(
      'Rights',
      rows([...allowed, ...named], 'Nobody has been given a right.'),
      grantForm(host, channels),
    ),
  ];
}

/** @param {import('./parts.js').ScreenHost} host */
function approveForm(host) {
  const code = h('input', { type: 'text', required: true, maxlength: 100, autocomplete: 'off' });
  const first = h('input', { type: 'checkbox', checked: true });
  const approve = () => {
    const body = { code: code.value, firstOwns: first.checked };
    void host.act(() => host.ask('POST', '/v1/access/pairings', body));
  };
  return form(
    'Approve',
    approve,
    labelled('The code that the person was given', code),
    h('label', { class: 'check' }, first, ' The first person becomes an owner'),
  );
}

/**
 * @param {import('./parts.js').ScreenHost} host
 * @param {Access['channels']} channels
 */
function grantForm(host, channels) {
  const channel = choice(Object.fromEntries(channels.map(({ name, label }) => [name, label])), '');
  const kind = choice(
    {
      dm: 'A person may write',
      group: 'The bot answers in a group',
      owner: 'A person is an owner',
      guild: 'Everybody in a server is answered there',
      role: 'Everybody with a role in a server is answered there',
    },
    'dm',
  );
  const id = h('input', { type: 'text', required: true, maxlength: 200, autocomplete: 'off' });
  const add = () => {
    const body = { channel: channel.value, kind: kind.value, id: id.value.trim() };
    void host.act(() => host.ask('POST', '/v1/access/grants', body));
  };
  const hints = channels.map(({ label, idHint }) => `${label}: ${idHint}`).join('; ');
  return h(
    'div',
    {},
    form('Add', add, labelled('Channel', channel), labelled('Right', kind), labelled('Id', id)),
    h('p', { class: 'quiet' }, `Ids are those of the network. ${hints}.`),
  );
}
