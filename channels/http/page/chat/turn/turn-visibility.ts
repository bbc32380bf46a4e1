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
  /** another wording of its question is shown in its place */
  isQuestionHidden: boolean;
  /** it is the newest one that the model reads */
  isLast: boolean;
  /** its question is the one that the newest answer answers */
  asksLast: boolean;
  /** the model reads neither its question nor its answer */
  isTakenBack: boolean;
  place: { nth: number; count: number; before: string | undefined; after: string | undefined } | undefined;
}

/**
 * The visibility of each turn: of several answers the one that the model reads is shown, or the last one if all are taken
 * back, with its question in the wording that it answers. While a new answer is being written, the earlier ones are hidden.
 * @param turns in their order
 */
export function turnVisibilities(turns: readonly TurnMarks[]): Map<string, TurnVisibility> {
  const visibilities: Map<string, TurnVisibility> = new Map();
  let newest: { answer: TurnVisibility; question: TurnVisibility | undefined } | undefined;
  for (const members of Map.groupBy(turns, ({ turnId, tries }) => tries?.of ?? turnId).values()) {
    const inOrder = members.toSorted((one, other) => nthOf(one) - nthOf(other));
    const questions = inOrder.filter(({ questionLeftOut }) => questionLeftOut !== undefined);
    const isTakenBack =
      questions.length > 0
        ? questions.every(({ questionLeftOut }) => questionLeftOut)
        : members.every(({ answerLeftOut }) => answerLeftOut === true);
    const isOut = ({ answerLeftOut, questionLeftOut = false }: TurnMarks) => answerLeftOut ?? questionLeftOut;
    const current = isTakenBack ? inOrder.at(-1) : inOrder.findLast((one) => !isOut(one));
    const asked = questions.findLast((one) => nthOf(one) <= (current ? nthOf(current) : Infinity));
    for (const one of inOrder)
      visibilities.set(one.turnId, {
        isHidden: isTakenBack ? one !== current : isOut(one),
        isQuestionHidden: one.questionLeftOut !== undefined && one !== asked,
        isTakenBack,
        isLast: false,
        asksLast: false,
        place: placeOf(one, inOrder),
      });
    const answer = visibilities.get(current?.turnId ?? '');
    if (answer !== undefined && !isTakenBack)
      newest = { answer, question: visibilities.get(asked?.turnId ?? '') };
  }
  if (newest !== undefined) newest.answer.isLast = true;
  if (newest?.question !== undefined) newest.question.asksLast = true;
  return visibilities;
}

function nthOf({ tries }: TurnMarks): number {
  return tries?.nth ?? 1;
}

function placeOf({ tries }: TurnMarks, members: readonly TurnMarks[]): TurnVisibility['place'] {
  if (!tries) return undefined;
  const { nth, count } = tries;
  const at = (number: number) => members.find((one) => one.tries?.nth === number)?.turnId;
  return { nth, count, before: at(nth - 1), after: at(nth + 1) };
}

/**
 * The marks of a stored answer. A message that a turn sent along the way has its own id, which extends the turn's: it
 * stands alone.
 */
export function answerMarks({ turnId, leftOut: answerLeftOut, tries }: Message): Partial<TurnMarks> {
  return turnId.includes('.') ? {} : { turnId, answerLeftOut, tries };
}
