/** The texts that settled replies show, kept from the end of a turn to its final delivery, which then edits only what differs. */

/** Maximum number of replies remembered; one that is dropped is edited again, which changes nothing visible. */
export const MAX_SHOWN_TEXTS = 500;

type Texts = readonly (string | undefined)[];

export class ShownTexts {
  readonly #byTurn = new Map<string, Texts>();

  keep(turnId: string, texts: Texts): void {
    this.#byTurn.set(turnId, texts);
    const oldest = this.#byTurn.keys().next().value;
    if (this.#byTurn.size > MAX_SHOWN_TEXTS && oldest !== undefined) this.#byTurn.delete(oldest);
  }

  /** Returns the texts and removes them: a second attempt cannot rely on them. */
  remove(turnId: string): Texts {
    const texts = this.#byTurn.get(turnId) ?? [];
    this.#byTurn.delete(turnId);
    return texts;
  }
}
