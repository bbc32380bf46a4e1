/** Errors that a dialog, a form or a card shows itself. */

/** What a person reads about an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
