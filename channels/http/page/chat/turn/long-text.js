/** Long messages, folded to their beginning. */
import { h } from '../../dom.js';
import { say } from '../../texts.js';

/** A message of more lines or characters is folded. */
export const MAX_SHOWN_LINES = 16;
export const MAX_SHOWN_CHARS = 1_600;

/** @param {string} text */
export function isLong(text) {
  return text.length > MAX_SHOWN_CHARS || text.split('\n', MAX_SHOWN_LINES + 1).length > MAX_SHOWN_LINES;
}

/**
 * The text of a message; a long one with the button that shows all of it.
 * @param {string} text
 */
export function foldedText(text) {
  const body = h('div', { class: 'message-text', dir: 'auto' }, text);
  if (!isLong(text)) return [body];
  const button = h(
    'button',
    { type: 'button', class: 'text-button fold', 'aria-expanded': 'false' },
    say('page.long.all'),
  );
  const show = (/** @type {boolean} */ all) => {
    body.classList.toggle('folded', !all);
    button.textContent = all ? say('page.long.less') : say('page.long.all');
    button.setAttribute('aria-expanded', String(all));
  };
  button.addEventListener('click', () => show(button.getAttribute('aria-expanded') === 'false'));
  show(false);
  return [body, button];
}
