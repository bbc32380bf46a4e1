/** A reaction to an answer that is still being written: it stops that answer. */
import { addressOf, type InboundMessage } from '../../contracts/message.ts';
import type { Receipt } from '../../contracts/receive.ts';
import type { QuestionStore } from '../../contracts/store/questions.ts';
import type { Log } from '../../contracts/log.ts';
import { stopSession } from '../sessions/stop-session.ts';
import type { CommandDeps } from '../commands/commands.ts';

export interface StopAnswerDeps extends Pick<CommandDeps, 'lanes' | 'bus'> {
  questions: QuestionStore;
  log: Log;
}

/** Stops the answer as `/stop` does; a reaction to anything else changes nothing. Throws only `StoreError`. */
export async function stopAnswer(
  deps: StopAnswerDeps,
  message: InboundMessage,
  answer: string,
): Promise<Receipt> {
  const session = await deps.questions.sessionShowing(message, answer);
  if (session === undefined) return { kind: 'handled' };
  await stopSession(deps, session, false);
  deps.log.info({ address: addressOf(message), sessionKey: session }, 'answer_stopped_by_reaction');
  return { kind: 'handled' };
}
