/**
 * Which of several answers to a question is shown, and what was taken back: pure, from the stored messages of turns.
 */
import type { Message } from '../../api.ts';

/** What the stored messages say about a turn. */
export interface TurnMarks {
  turnId: string;
  /** the model reads no answer to its question; undefined = it has no question */
  questionLeftOut?: boolean | undefined;
  /** the model does not read its answer */
  answerLeftOut?: boolean;
  tries?: { of: string; nth: number; count: number } | null;
}

/** How a turn is shown. `others` are the turns of the answers before and after it, where those are loaded. */
export interface TurnVisibility {
  /** another answer is shown in its place */
  isHidden: boolean;
  /** it is the newest one that the model reads */
  isLast: boolean;
  /** the model reads neither its question nor its answer */
  isTakenBack: boolean;
  place: { nth: number; count: number; before: string | undefined; after: string | undefined } | undefined;
}

/**
 * The visibility of each turn: of several answers the one that the model reads is shown, or the last one if all are taken
 * back. While a new answer is being written, the earlier ones are hidden.
 * @param turns in their order
 */
export function turnVisibilities(turns: readonly TurnMarks[]): Map<string, TurnVisibility> {
  const byId: Map<string, TurnMarks> = new Map(turns.map((turn) => [turn.turnId, turn]));
  const groups: Map<string, TurnMarks[]> = Map.groupBy(turns, ({ turnId, tries }) => tries?.of ?? turnId);
  const visibilities: Map<string, TurnVisibility> = new Map();
  for (const [first, members] of groups) {
    const isTakenBack =
      byId.get(first)?.questionLeftOut ?? members.every(({ answerLeftOut }) => answerLeftOut === true);
    const last = Math.max(...members.map(({ tries }) => tries?.nth ?? 1));
    for (const { turnId, answerLeftOut = false, tries } of members) {
      const nth = tries?.nth ?? 1;
      const isHidden = isTakenBack ? nth < last : answerLeftOut;
      const at = (number: number) => members.find((one) => one.tries?.nth === number)?.turnId;
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
 */
export function answerMarks({ turnId, leftOut: answerLeftOut, tries }: Message): Partial<TurnMarks> {
  return turnId.includes('.') ? {} : { turnId, answerLeftOut, tries };
}
