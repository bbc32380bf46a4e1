/** One chat in the list: its name, its marks, and the menu of what can be done with it. */
import type { Session } from '../api.ts';
import type { HealthReport } from '../../../../src/protocol/gateway-api.ts';
import { h, icon } from '../dom.ts';
import { say } from '../texts.ts';
import { timeElement } from '../times.ts';

const TITLE_LENGTH = 60;
/** Labels of the channels by name, as the gateway's health report gives them. */
const labels: Map<string, string> = new Map();

/** Stores the labels of a health report; true when one has changed. */
export function setChannelLabels(channels: HealthReport['channels']) {
  const changes = Object.entries(channels).filter(([name, { label }]) => labels.get(name) !== label);
  for (const [name, { label }] of changes) labels.set(name, label);
  return changes.length > 0;
}

/** The label of a session's channel; until the first health report, its name. */
export function channelOf(key: string) {
  const name = key.slice(0, key.indexOf(':'));
  return labels.get(name) ?? name;
}

/** The name of a chat: its title, else the first line of its first message. */
export function nameOf({ key, title, preview }: { key: string; title: string | null; preview: string }) {
  if (title !== null && title !== '') return title;
  const line = preview.trim().split('\n', 1)[0] ?? '';
  if (line === '') return key.slice(key.indexOf(':') + 1);
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH).trimEnd()}…` : line;
}

interface RowOptions {
  isCurrent: boolean;
  /** undefined while no one is selecting */
  selected: boolean | undefined;
  open: () => void;
  menuClosed: () => void;
  actions: [label: string, act: () => void][];
}

/** Whose chat it is; nothing for one's own. */
function ownerOf({ own: isOwn, ownerName }: Session) {
  return isOwn ? '' : (ownerName ?? '');
}

export function sessionRow(session: Session, { isCurrent, selected, open, menuClosed, actions }: RowOptions) {
  const { key, updatedAt, state, unread, pinned } = session;
  const where = key.startsWith('http:') ? ownerOf(session) : channelOf(key);
  const isUnread = unread > 0 && !isCurrent && state !== 'running';
  const button = h(
    'button',
    {
      type: 'button',
      class: `session${isUnread ? ' unread' : ''}`,
      'aria-current': isCurrent ? 'true' : undefined,
      'aria-pressed': selected === undefined ? undefined : String(selected),
      onclick: open,
    },
    h(
      'span',
      { class: 'session-title', dir: 'auto' },
      ...(selected === undefined
        ? []
        : [h('span', { class: 'tick', 'aria-hidden': 'true' }, selected ? '☑ ' : '☐ ')]),
      nameOf(session),
    ),
    h(
      'span',
      { class: 'session-meta' },
      ...(pinned ? [h('span', { class: 'mark' }, say('page.row.pinned'))] : []),
      ...stateMark(state),
      ...(isUnread ? [h('span', { class: 'mark new' }, say('page.row.new', { count: unread }))] : []),
      where === '' ? '' : `${where} · `,
      timeElement(updatedAt),
    ),
  );
  const row = h('div', { class: 'session-row', 'data-key': key }, button);
  if (selected === undefined) row.append(menuOf(nameOf(session), actions, menuClosed));
  return row;
}

function stateMark(state: Session['state']) {
  if (state === 'running') return [h('span', { class: 'mark running' }, say('page.row.running'))];
  if (state === 'waiting') return [h('span', { class: 'mark waiting' }, say('page.row.waiting'))];
  return [];
}

function menuOf(name: string, actions: RowOptions['actions'], onClose: () => void) {
  const summary = h(
    'summary',
    { class: 'icon-button', 'aria-label': say('page.row.actions', { name }) },
    icon('M6 12h.01M12 12h.01M18 12h.01'),
  );
  const menu = h('details', { class: 'row-menu' }, summary);
  menu.append(
    h(
      'div',
      { class: 'row-actions' },
      ...actions.map(([label, act]) =>
        h(
          'button',
          {
            type: 'button',
            class: label === say('page.delete') ? 'danger-text' : undefined,
            'aria-label': say('page.row.act', { label, name }),
            onclick: () => {
              menu.open = false;
              act();
            },
          },
          label,
        ),
      ),
    ),
  );
  menu.addEventListener('toggle', () => {
    if (!menu.open) onClose();
  });
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) menu.open = false;
  });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  });
  return menu;
}
