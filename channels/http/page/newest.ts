/** Requests for the same thing: their answers in order, and many wishes as one request. */

/**
 * Requests may overlap: an answer is not shown over that of a later request. An answer that comes first is shown, so that
 * requests that never end do not keep it away.
 */
export class NewestAnswer {
  #begun = 0;
  #shown = 0;

  /**
   * Call it before a request. The function that it returns says whether the answer may be shown, when it is there.
   */
  begin(): () => boolean {
    const request = (this.#begun += 1);
    return () => {
      if (request < this.#shown) return false;
      this.#shown = request;
      return true;
    };
  }
}

/** A function that does the work once after a pause, however often it is called until then. */
export function soon(work: () => void, pauseMs: number): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      work();
    }, pauseMs);
  };
}
