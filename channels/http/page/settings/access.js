/** The screen about people: who asks to write, who may, and who are owners. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, choice, form, labelled, moment, row, rows, section } from './parts.js';
import { say, sayParts } from '../texts.ts';

/**
 * @typedef {object} Access
 * @property {{ channel: string, senderId: string, senderName?: string, expiresAt: string }[]} pairings
 * @property {{ channel: string, kind: 'dm' | 'group' | 'owner' | 'guild' | 'role', id: string, grantedAt: string }[]} grants
 * @property {{ name: string, label: string, idHint: string, owners: string[], allowed: string[] }[]} channels
 */

const KINDS = {
  dm: say('page.set.kind_dm'),
  group: say('page.set.kind_group'),
  owner: say('page.set.kind_owner'),
  guild: say('page.set.kind_guild'),
  role: say('page.set.kind_role'),
};

/** @type {import('./parts.js').Screen} */
export async function accessScreen(host) {
  /** @type {Access} */
  const { pairings, grants, channels } = await host.ask('GET', '/v1/access');
  const pairingRows = pairings.map(({ channel, senderId, senderName, expiresAt }) =>
    row(
      `${senderName ?? senderId} (${channel} ${senderId})`,
      sayParts('page.set.asks_until', { moment: moment(expiresAt) }),
    ),
  );
  const grantRows = grants.map((grant) => {
    const name = `${grant.channel} ${grant.id}`;
    const path = `/v1/access/grants/${encodeURIComponent(grant.channel)}/${grant.kind}/${encodeURIComponent(grant.id)}`;
    const remove = async () => {
      if (
        !(await confirmDelete(
          say('page.set.take_right', { name, right: KINDS[grant.kind] }),
          say('page.set.remove'),
        ))
      )
        return;
      await host.act(() => host.ask('DELETE', path));
    };
    const about = sayParts('page.set.right_since', {
      right: KINDS[grant.kind],
      moment: moment(grant.grantedAt),
    });
    return row(
      name,
      about,
      button(say('page.set.remove'), `${name}, ${KINDS[grant.kind]}`, () => void remove(), 'danger'),
    );
  });
  const ownerRows = channels.flatMap(({ label, owners, allowed: ids }) => [
    ...owners.map((id) => row(`${label} ${id}`, say('page.set.owner_config'))),
    ...ids.filter((id) => !owners.includes(id)).map((id) => row(`${label} ${id}`, say('page.set.dm_config'))),
  ]);
  return [
    section(say('page.set.requests'), rows(pairingRows, say('page.set.no_requests')), approveForm(host)),
    section(
      say('page.set.rights'),
      rows([...grantRows, ...ownerRows], say('page.set.no_rights')),
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
    say('page.approval.approve'),
    approve,
    labelled(say('page.set.code'), code),
    h('label', { class: 'check' }, first, ` ${say('page.set.first_owns')}`),
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
      dm: say('page.set.grant_dm'),
      group: say('page.set.grant_group'),
      owner: say('page.set.grant_owner'),
      guild: say('page.set.grant_guild'),
      role: say('page.set.grant_role'),
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
    form(
      say('page.set.add'),
      add,
      labelled(say('page.set.channel'), channel),
      labelled(say('page.set.right'), kind),
      labelled(say('page.set.id'), id),
    ),
    h('p', { class: 'quiet' }, say('page.set.ids', { hints })),
  );
}
