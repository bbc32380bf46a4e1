/** The list of keys, which `?` shows. */
import { byId, h } from './dom.js';
import { say } from './texts.js';

/** @type {[string, string][]} */
const KEYS = [
  ['Enter', say('page.keys.send')],
  ['Shift + Enter', say('page.keys.line')],
  ['/', say('page.keys.commands')],
  ['Escape', say('page.keys.escape')],
  ['?', say('page.keys.show')],
];

/** Fills the dialog and listens for `?`, except where text is being typed. */
export function offerKeys() {
  const dialog = byId('keys', HTMLDialogElement);
  const rows = KEYS.map(([key, does]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)));
  byId('keys-list', HTMLElement).replaceChildren(...rows);
  const show = () => dialog.open || dialog.showModal();
  byId('show-keys', HTMLElement).addEventListener('click', show);
  byId('close-keys', HTMLElement).addEventListener('click', () => dialog.close());
  addEventListener('keydown', (event) => {
    const { target } = event;
    const isWriting =
      target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
    // An empty message field is where the focus nearly always is.
    const isEmptyDraft =
      target instanceof HTMLTextAreaElement && target.id === 'draft' && target.value === '';
    if (event.key !== '?' || (isWriting && !isEmptyDraft) || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    show();
  });
}
