/** Where a turn shows what it does: the live message of its chat, and the event bus. */
import type { TurnEmitter } from '../../contracts/bus.ts';
import type { TurnPayload } from '../../contracts/store/accept.ts';
import { askedQuestion } from '../../contracts/message.ts';
import type { LaneHead } from '../../contracts/store/lanes.ts';
import type { OpenedTurn } from '../../contracts/store/records.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { type LiveOutput, openLiveOutput } from './silent-reply.ts';

interface OutputStart {
  head: LaneHead;
  turn: TurnIdentity & Pick<TurnContext, 'silentToken'> & Pick<TurnProgress, 'reply'>;
  payload: TurnPayload;
  opened: OpenedTurn;
  emitter: TurnEmitter;
}

/** Creates the output of the turn: the live message of its channel, and the event bus. */
export function openOutput(
  { live, ledger }: Pick<AgentShared, 'live' | 'ledger'>,
  { head, turn, payload, opened, emitter }: OutputStart,
): LiveOutput {
  const { placeholder } = payload.message;
  const placeholders = opened.placeholders.length === 0 && placeholder ? [placeholder] : opened.placeholders;
  const textSoFar = turn.reply.text;
  const open = () =>
    live.open({
      turnId: turn.turnId,
      session: turn.sessionKey,
      address: opened.address,
      surfaces: opened.surfaces,
      replyTo: turn.replyTo,
      question: askedQuestion(payload.message),
      placeholders,
      takenOver: isTakenOver(head, opened),
      textSoFar,
      note: (ref, sent) => ledger.noteSent(turn.fence, ref, sent),
      plan: opened.plan,
      language: turn.say.language,
    });
  const emit: Emit = (event) => emitter.emit(event);
  return openLiveOutput({ silentToken: turn.silentToken, textSoFar, open, emit });
}

/** True when an earlier attempt may have shown what is not noted; not every death or lost lease is counted against the turn. */
function isTakenOver({ crashes }: LaneHead, { interrupted, placeholders }: OpenedTurn): boolean {
  return crashes > 0 || (interrupted === true && placeholders.length > 0);
}
