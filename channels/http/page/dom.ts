/** Functions that build elements: every text becomes a text node, never markup. */
import { say } from './texts.ts';

/**
 * Builds an element. `props` are attributes; a function named `on…` becomes a listener; `undefined` and `false` leave
 * an attribute out. Children may be strings.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Record<string, string | number | boolean | undefined | ((event: Event) => void)> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** A button that copies a text and confirms it. */
export function copyButton(text: () => string, label: string) {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': label }, say('page.copy'));
  button.addEventListener('click', () => {
    copyText(text()).then(
      () => flash(button, say('page.copied')),
      () => flash(button, say('page.copy.refused')),
    );
  });
  return button;
}

/**
 * Copies a text; rejects where the browser refuses. Pages over plain HTTP have no `navigator.clipboard`: there, the text is
 * selected in a field, inside the open dialog if there is one, because nothing else can be selected then.
 */
export async function copyText(text: string): Promise<void> {
  if ('clipboard' in navigator) return await navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  (document.querySelector('dialog:modal') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new DOMException('', 'NotAllowedError');
}

function flash(button: HTMLElement, word: string) {
  button.textContent = word;
  setTimeout(() => (button.textContent = say('page.copy')), 1_600);
}
