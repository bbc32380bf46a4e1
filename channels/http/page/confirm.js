/** The dialogs of the page: the confirmation before something is deleted, and the question for a short text. */
import { byId } from './dom.js';
import { say } from './texts.js';

/**
 * Asks whether to delete; false when the dialog is declined or closed.
 * @param {string} question
 * @param {string} [word] on the button that agrees
 * @returns {Promise<boolean>}
 */
export async function confirmDelete(question, word = say('page.delete')) {
  byId('confirm-yes', HTMLElement).textContent = word;
  byId('confirm-text', HTMLElement).textContent = question;
  return await answerOf('confirm');
}

/**
 * Asks for a short text; null when the dialog is declined or closed.
 * @param {string} question
 * @param {string} text what it begins with
 * @param {number} [most] characters that it may have
 * @returns {Promise<string | null>}
 */
export async function askText(question, text, most = 200) {
  const field = byId('ask-text', HTMLInputElement);
  byId('ask-label', HTMLElement).textContent = question;
  field.maxLength = most;
  field.value = text;
  const answer = answerOf('ask');
  field.select();
  return (await answer) ? field.value : null;
}

/**
 * True when the dialog is closed with its "yes".
 * @param {string} id
 * @returns {Promise<boolean>}
 */
function answerOf(id) {
  const dialog = byId(id, HTMLDialogElement);
  dialog.returnValue = 'no';
  const controller = new AbortController();
  for (const answer of ['yes', 'no']) {
    const button = byId(`${id}-${answer}`, HTMLButtonElement);
    const close = (/** @type {Event} */ event) => {
      event.preventDefault();
      dialog.close(answer);
    };
    button.addEventListener('click', close, { signal: controller.signal });
  }
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      'close',
      () => {
        controller.abort();
        resolve(dialog.returnValue === 'yes');
      },
      { once: true },
    );
  });
}
