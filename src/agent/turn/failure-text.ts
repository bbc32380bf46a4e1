/** How a turn tells its user about errors and about incomplete answers. */
import {
  type ErrorReader,
  type GatewayError,
  readerOf,
  StoreError,
  wordError,
} from '../../protocol/errors.ts';
import type { FinishReason } from '../../protocol/agent/provider.ts';
import type { TurnEndReason } from '../../protocol/event.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';
import { recipientOf } from '../../protocol/texts/languages.ts';
import { type Turn, userRoleOf } from './turn-state.ts';
import type { AgentShared } from '../deps.ts';

/** The text of a turn that failed. */
export function failureText(error: GatewayError, reader: ErrorReader, say: Say): string {
  return say('failure.answer', { why: wordError(error, reader, say) });
}

/**
 * Says texts in the language of the sender of a message. What the clock, a subagent or a webhook began is for the
 * person of the chat. Throws only `StoreError`.
 */
export async function sayFor(
  { chats: { languages } }: AgentShared,
  { message, address }: TurnPayload,
): Promise<Say> {
  if (message.channel !== 'system' || message.language !== undefined) return languages.say(message);
  return languages.say(recipientOf(address, await languages.languageOf(address)));
}

/** Who reads what a turn says: its user, and in a group everyone. Never throws. */
export async function turnReader({ isOwner }: AgentShared, turn: Turn): Promise<ErrorReader> {
  if (turn.place === 'group') return 'person';
  try {
    const owner = (await userRoleOf(turn, isOwner)) === 'owner';
    return readerOf({ owner, place: turn.place });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // The database cannot be reached: the reader learns only what anyone may.
    return 'person';
  }
}

/** How an answer without tool calls ends its turn: `mark` comes after its text, or replaces it when it has none. */
export function endOfAnswer(
  content: string,
  finish: FinishReason | undefined,
): { reason: TurnEndReason; mark?: PlainKey; isError: boolean } {
  const isEmpty = content.trim() === '';
  const marked = (reason: TurnEndReason, mark: PlainKey, instead: PlainKey) => ({
    reason,
    mark: isEmpty ? instead : mark,
    isError: isEmpty,
  });
  if (finish === 'length') return marked('cut_off', 'turn.cut_off', 'turn.cut_off_early');
  if (finish === 'content_filter') return marked('filtered', 'turn.filtered', 'turn.filtered_early');
  if (finish === 'refusal')
    return { reason: 'filtered', isError: isEmpty, ...(isEmpty && { mark: 'turn.refused' }) };
  return { reason: 'completed', isError: isEmpty, ...(isEmpty && { mark: 'turn.empty' }) };
}
