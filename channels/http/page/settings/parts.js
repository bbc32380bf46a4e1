/** The parts that screens of the settings are made of: sections, rows with buttons, fields, forms and tables. */
import { h } from '../dom.ts';
import { dayAndClock } from '../texts.ts';
import { timeElement } from '../times.ts';

/**
 * What a screen works with: `ask` calls the API; `act` does something, shows its error, and redraws the screen when it
 * is done; `showError` shows an error and leaves the screen as it is.
 * @typedef {object} ScreenHost
 * @property {import('../api.ts').Api['ask']} ask
 * @property {(work: () => Promise<unknown>) => Promise<void>} act
 * @property {(error: unknown) => void} showError
 */
/** @typedef {(host: ScreenHost) => Promise<Node[]>} Screen */

/**
 * A part of a screen under a title.
 * @param {string} title
 * @param {...(Node | string)} content
 */
export function section(title, ...content) {
  return h('section', { class: 'settings-section' }, h('h2', {}, title), ...content);
}

/**
 * A row: what it is about, more about it, and what can be done with it.
 * @param {string} title
 * @param {string | (string | Node)[]} about
 * @param {...HTMLElement} buttons
 */
export function row(title, about, ...buttons) {
  return h(
    'li',
    { class: 'settings-row' },
    h('span', { class: 'settings-row-title', dir: 'auto' }, title),
    h('span', { class: 'quiet settings-row-about', dir: 'auto' }, ...[about].flat()),
    h('span', { class: 'settings-row-buttons' }, ...buttons),
  );
}

/**
 * Rows, or a sentence when there are none.
 * @param {HTMLElement[]} items
 * @param {string} empty
 */
export function rows(items, empty) {
  return items.length === 0
    ? h('p', { class: 'quiet' }, empty)
    : h('ul', { class: 'settings-rows' }, ...items);
}

/**
 * A button; `name` says what it acts on, for people who hear the page.
 * @param {string} label
 * @param {string} name
 * @param {() => void} press
 * @param {string} [look]
 */
export function button(label, name, press, look = '') {
  const props = { type: 'button', class: look, 'aria-label': `${label}: ${name}`, onclick: press };
  return h('button', props, label);
}

/**
 * A field under its label.
 * @template {HTMLElement} Control
 * @param {string} label
 * @param {Control} control
 */
export function labelled(label, control) {
  return h('label', { class: 'settings-field' }, h('span', {}, label), control);
}

/**
 * A form whose button does the work.
 * @param {string} label
 * @param {() => void} submit
 * @param {...HTMLElement} fields
 */
export function form(label, submit, ...fields) {
  const element = h(
    'form',
    { class: 'settings-form' },
    ...fields,
    h('button', { type: 'submit', class: 'primary' }, label),
  );
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  return element;
}

/**
 * A list to choose from.
 * @param {Record<string, string>} options labels by value
 * @param {string} selection
 */
export function choice(options, selection) {
  const select = h('select', {});
  for (const [value, label] of Object.entries(options)) {
    select.append(h('option', { value, selected: value === selection }, label));
  }
  return select;
}

/**
 * A table that can be scrolled sideways.
 * @param {string} caption
 * @param {string[]} heads
 * @param {(string | Node)[][]} cells
 */
export function table(caption, heads, cells) {
  return h(
    'div',
    { class: 'settings-table', tabindex: '0', role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', {}, ...cells.map((line) => h('tr', {}, ...line.map((cell) => h('td', {}, cell))))),
    ),
  );
}

/**
 * A moment with day and time; a dash without one.
 * @param {string | number | null | undefined} at
 */
export function moment(at) {
  return at === null || at === undefined ? '–' : timeElement(at, dayAndClock);
}
