/** Errors that a dialog, a form or a card shows itself. */

/** What a person reads about an error. @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does the work, and shows in `note` why it failed; the message of an earlier attempt goes first. Returns whether it
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
    note.textContent = messageOf(error);
    return false;
  }
}
