/** The confirmation before something is deleted. */
import { byId } from './dom.js';

/**
 * Asks whether to delete; false when the dialog is declined or closed.
 * @param {string} question
 * @returns {Promise<boolean>}
 */
export function confirmDelete(question) {
  const dialog = byId('confirm', HTMLDialogElement);
  byId('confirm-text', HTMLElement).textContent = question;
  dialog.returnValue = 'no';
  const asked = new AbortController();
  for (const answer of ['yes', 'no']) {
    const button = byId(`confirm-${answer}`, HTMLButtonElement);
    button.addEventListener('click', () => dialog.close(answer), { signal: asked.signal });
  }
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      'close',
      () => {
        asked.abort();
        resolve(dialog.returnValue === 'yes');
      },
      { once: true },
    );
  });
}
