/** Errors that a dialog, a form or a card shows itself. */

/** What a person reads about an error. @param {unknown} error */
export function wordsOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does the work, and shows in `note` why it failed; the words about an earlier attempt go first. Returns whether it
 * succeeded; never rejects.
 * @param {HTMLElement} note
 * @param {() => Promise<unknown>} work
 */
export async function attempt(note, work) {
  note.textContent = '';
  try {
    await work();
    return true;
  } catch (error) {
    note.textContent = wordsOf(error);
    return false;
  }
}
