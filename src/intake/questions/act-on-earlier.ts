/** Messages that are only about earlier ones: edits of questions, and reactions to answers. */
import type { Verdict } from '../../protocol/access.ts';
import { addressOf, type InboundMessage } from '../../protocol/message.ts';
import type { Receipt } from '../../protocol/receive.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { editObserved, type GroupTalkDeps } from '../groups/group-talk.ts';
import { type EditDeps, editQuestion } from './edited-question.ts';
import type { QuestionStore } from '../../protocol/store/group-chats.ts';
import type { Log } from '../../protocol/log.ts';
import { stopSession } from '../sessions/stop-session.ts';
import type { CommandDeps } from '../commands/commands.ts';

/*** A reaction to an answer that is still being written: it stops that answer. */
interface StopAnswerDeps extends Pick<CommandDeps, 'lanes' | 'bus'> {
  questions: QuestionStore;
  log: Log;
}

export interface EarlierDeps extends StopAnswerDeps {
  groupChats: GroupTalkDeps['groupChats'];
  ledger: EditDeps['ledger'] & Pick<Ledger, 'sessionOf'>;
  bus: EditDeps['bus'] & StopAnswerDeps['bus'];
  languages: EditDeps['languages'];
}

/** True for an edit and for a reaction. */
export function isAboutEarlier({ stops, isEdit }: InboundMessage): boolean {
  return stops !== undefined || isEdit === true;
}

/** Acts on one of them, silently for senders without access. Throws only `StoreError`. */
export async function actOnEarlier(
  deps: EarlierDeps,
  message: InboundMessage,
  verdict: Verdict,
): Promise<Receipt> {
  const isObserved = verdict.kind === 'observe' || (verdict.kind === 'allow' && message.place === 'group');
  if (isObserved && message.isEdit === true) await editObserved(deps, message);
  if (verdict.kind !== 'allow' || message.fromBot === true) return { kind: 'refused', code: 'denied' };
  if (message.stops !== undefined) return await stopAnswer(deps, message, message.stops);
  return await editQuestion(deps, message, await deps.ledger.sessionOf(addressOf(message)));
}

/** Stops the answer as `/stop` does; a reaction to anything else changes nothing. Throws only `StoreError`. */
async function stopAnswer(deps: StopAnswerDeps, message: InboundMessage, answer: string): Promise<Receipt> {
  const session = await deps.questions.sessionShowing(message, answer);
  if (session === undefined) return { kind: 'handled' };
  await stopSession(deps, session, false);
  deps.log.info({ address: addressOf(message), sessionKey: session }, 'answer_stopped_by_reaction');
  return { kind: 'handled' };
}
