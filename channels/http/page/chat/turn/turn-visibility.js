/** Which of several answers to a question is shown, and what was taken back: pure, from the stored messages of turns. */

/**
 * What the stored messages say about a turn.
 * @typedef {object} TurnMarks
 * @property {string} turnId
 * @property {boolean | undefined} [questionLeftOut] the model reads no answer to its question; undefined = it has no question
 * @property {boolean} [answerLeftOut] the model does not read its answer
 * @property {{ of: string, nth: number, count: number } | null} [tries]
 */

/**
 * How a turn is shown. `others` are the turns of the answers before and after it, where those are loaded.
 * @typedef {object} TurnVisibility
 * @property {boolean} isHidden another answer is shown in its place
 * @property {boolean} isLast it is the newest one that the model reads
 * @property {boolean} isTakenBack the model reads neither its question nor its answer
 * @property {{ nth: number, count: number, before: string | undefined, after: string | undefined } | undefined} place
 */

/**
 * The visibility of each turn: of several answers the one that the model reads is shown, or the last one if all are taken
 * back. While a new answer is being written, the earlier ones are hidden.
 * @param {readonly TurnMarks[]} turns in their order
 * @returns {Map<string, TurnVisibility>}
 */
export function turnVisibilities(turns) {
  /** @type {Map<string, TurnMarks>} */
  const byId = new Map(turns.map((turn) => [turn.turnId, turn]));
  /** @type {Map<string, TurnMarks[]>} */
  const groups = Map.groupBy(turns, ({ turnId, tries }) => tries?.of ?? turnId);
  /** @type {Map<string, TurnVisibility>} */
  const visibilities = new Map();
  for (const [first, members] of groups) {
    const isTakenBack =
      byId.get(first)?.questionLeftOut ?? members.every(({ answerLeftOut }) => answerLeftOut === true);
    const last = Math.max(...members.map(({ tries }) => tries?.nth ?? 1));
    for (const { turnId, answerLeftOut = false, tries } of members) {
      const nth = tries?.nth ?? 1;
      const isHidden = isTakenBack ? nth < last : answerLeftOut;
      /** @param {number} number */
      const at = (number) => members.find((one) => one.tries?.nth === number)?.turnId;
      const place = tries ? { nth, count: tries.count, before: at(nth - 1), after: at(nth + 1) } : undefined;
      visibilities.set(turnId, { isHidden, isTakenBack, isLast: false, place });
    }
  }
  const last = turns
    .map(({ turnId }) => visibilities.get(turnId))
    .findLast((one) => one?.isHidden === false && !one.isTakenBack);
  if (last !== undefined) last.isLast = true;
  return visibilities;
}

/**
 * The marks of a stored answer. A message that a turn sent along the way has its own id, which extends the turn's: it
 * stands alone.
 * @param {import('../../api.js').Message} answer
 * @returns {Partial<TurnMarks>}
 */
export function answerMarks({ turnId, leftOut: answerLeftOut, tries }) {
  return turnId.includes('.') ? {} : { turnId, answerLeftOut, tries };
}
