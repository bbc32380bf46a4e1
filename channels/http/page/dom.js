/** Functions that build elements: every text becomes a text node, never markup. */
import { say } from './texts.js';

/**
 * Builds an element. `props` are attributes; a function named `on…` becomes a listener; `undefined` and `false` leave
 * an attribute out. Children may be strings.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} [props]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * The page's element with this id. Throws when there is none of that kind.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no ${kind.name} with the id ${id}.`);
  return element;
}

/**
 * A line icon from its path.
 * @param {string} path
 */
export function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/**
 * The last line of a dialog: the button that closes it.
 * @param {() => void} close
 */
export function closeLine(close) {
  const button = h('button', { type: 'button', onclick: close }, say('page.close'));
  return h('div', { class: 'confirm-buttons' }, button);
}

/**
 * A button that copies a text and confirms it.
 * @param {() => string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': label }, say('page.copy'));
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(text()).then(
      () => flash(button, say('page.copied')),
      () => flash(button, say('page.copy.refused')),
    );
  });
  return button;
}

/**
 * @param {HTMLElement} button
 * @param {string} word
 */
function flash(button, word) {
  button.textContent = word;
  setTimeout(() => (button.textContent = say('page.copy')), 1_600);
}
