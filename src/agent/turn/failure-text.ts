/** How a turn tells its user about errors and about answers that are not whole. */
import { readerOf, StoreError, wordError } from '../../contracts/errors.ts';
import type { ErrorReader, GatewayError } from '../../contracts/errors.ts';
import type { FinishReason } from '../../contracts/provider.ts';
import type { TurnEndReason } from '../../contracts/event.ts';
import type { AgentDeps } from '../deps.ts';
import type { TurnIdentity } from '../state/turn-state.ts';
import { roleOf } from '../tools/user-role.ts';

/** Shown instead of an empty answer. */
export const EMPTY_ANSWER = 'The model gave an empty answer. Please ask again, perhaps in other words.';
/** Appended to an answer that reached its maximum length, and shown instead of one that had not begun by then. */
export const CUT_OFF_MARK = '*(cut off: the answer reached its maximum length)*';
const CUT_OFF_BEFORE_ANSWER =
  'The model reached its maximum length before it began to answer. Please ask for less at once.';
/** Appended to an answer that a content filter ended, and shown instead of one that it ended before it began. */
const FILTERED_MARK = '*(cut off: the content filter of the model server ended the answer)*';
const FILTERED_BEFORE_ANSWER =
  'The content filter of the model server ended this answer before it began. Please ask in other words.';
/** Shown where the model refused without a word. */
const REFUSED = 'The model refused to answer.';

/** The text of a turn that failed. */
export function failureText(error: GatewayError, reader: ErrorReader): string {
  return `Sorry, this could not be answered. ${wordError(error, reader)}`;
}

/** Who reads what a turn says: its user, and in a group everybody. Never throws. */
export async function turnReader(deps: Pick<AgentDeps, 'isOwner'>, turn: TurnIdentity): Promise<ErrorReader> {
  if (turn.place === 'group') return 'person';
  try {
    turn.userRole ??= await roleOf(deps, turn.userId);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // The database is away: whoever it is learns no more than anybody.
    return 'person';
  }
  return readerOf({ owner: turn.userRole === 'owner', place: turn.place });
}

/** How an answer without tool calls ends its turn: `mark` stands behind its text, or for all of it when it has none. */
export function endOfAnswer(
  content: string,
  finish: FinishReason | undefined,
): { reason: TurnEndReason; mark?: string; isError: boolean } {
  const isEmpty = content.trim() === '';
  const marked = (reason: TurnEndReason, mark: string, instead: string) => ({
    reason,
    mark: isEmpty ? instead : mark,
    isError: isEmpty,
  });
  if (finish === 'length') return marked('cut_off', CUT_OFF_MARK, CUT_OFF_BEFORE_ANSWER);
  if (finish === 'content_filter') return marked('filtered', FILTERED_MARK, FILTERED_BEFORE_ANSWER);
  if (finish === 'refusal')
    return { reason: 'filtered', isError: isEmpty, ...(isEmpty && { mark: REFUSED }) };
  return { reason: 'completed', isError: isEmpty, ...(isEmpty && { mark: EMPTY_ANSWER }) };
}
