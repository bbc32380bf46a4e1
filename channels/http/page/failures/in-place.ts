/** Errors that a dialog, a form or a card shows itself. */

/** What a person reads about an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does the work, and shows in `note` why it failed; the message of an earlier attempt goes first. Returns whether it
 * succeeded; never rejects.
 */
export async function attempt(note: HTMLElement, work: () => Promise<unknown>): Promise<boolean> {
  note.textContent = '';
  try {
    await work();
    return true;
  } catch (error) {
    note.textContent = messageOf(error);
    return false;
  }
}
