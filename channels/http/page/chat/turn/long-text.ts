/** Long messages, folded to their beginning. */
import { h } from '../../dom.ts';
import { say } from '../../texts.ts';

/** A message of more lines or characters is folded. */
export const MAX_SHOWN_LINES = 16;
export const MAX_SHOWN_CHARS = 1_600;

export function isLong(text: string) {
  return text.length > MAX_SHOWN_CHARS || text.split('\n', MAX_SHOWN_LINES + 1).length > MAX_SHOWN_LINES;
}

/** The text of a message; a long one with the button that shows all of it. */
export function foldedText(text: string) {
  const body = h('div', { class: 'message-text', dir: 'auto' }, text);
  if (!isLong(text)) return [body];
  const button = h(
    'button',
    { type: 'button', class: 'text-button fold', 'aria-expanded': 'false' },
    say('page.long.all'),
  );
  const show = (all: boolean) => {
    body.classList.toggle('folded', !all);
    button.textContent = all ? say('page.long.less') : say('page.long.all');
    button.setAttribute('aria-expanded', String(all));
  };
  button.addEventListener('click', () => show(button.getAttribute('aria-expanded') === 'false'));
  show(false);
  return [body, button];
}
