/** The dialogs of the page: the confirmation before something is deleted, and the question for a short text. */
import { byId } from './dom.ts';
import { say } from './texts.ts';

/**
 * Asks whether to delete; false when the dialog is declined or closed.
 * @param word on the button that agrees
 */
export async function confirmDelete(question: string, word: string = say('page.delete')): Promise<boolean> {
  byId('confirm-yes', HTMLElement).textContent = word;
  byId('confirm-text', HTMLElement).textContent = question;
  return await answerOf('confirm');
}

/**
 * Asks for a short text; null when the dialog is declined or closed.
 * @param text what it begins with
 * @param most characters that it may have
 */
export async function askText(question: string, text: string, most: number = 200): Promise<string | null> {
  const field = byId('ask-text', HTMLInputElement);
  byId('ask-label', HTMLElement).textContent = question;
  field.maxLength = most;
  field.value = text;
  const answer = answerOf('ask');
  field.select();
  return (await answer) ? field.value : null;
}

/** True when the dialog is closed with its "yes". */
function answerOf(id: string): Promise<boolean> {
  const dialog = byId(id, HTMLDialogElement);
  dialog.returnValue = 'no';
  const controller = new AbortController();
  for (const answer of ['yes', 'no']) {
    const button = byId(`${id}-${answer}`, HTMLButtonElement);
    const close = (event: Event) => {
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
