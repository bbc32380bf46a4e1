/** Ends a turn that has become a dead letter. */
import { GatewayError } from '../../protocol/errors.ts';
import type { LaneHead, LaneStep } from '../../protocol/store/lanes.ts';
import { type Address, answeredMessage, type SessionKey, userIdOf } from '../../protocol/message.ts';
import { cancelPlan, cancelReason, isOpenPlan } from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { AgentShared } from '../deps.ts';
import { deliveryOf, elsewhereOf } from './answer-delivery.ts';
import { failureOf } from './agent-loop.ts';
import { failureText, sayFor } from './failure-text.ts';
import { readTurnPayload } from './turn-payload.ts';

/** Ends a turn that has become a dead letter and answers with the reason, also one whose message cannot be read. */
export async function endDeadLetter(
  shared: Pick<AgentShared, 'ledger' | 'lanes' | 'events' | 'log' | 'languages'>,
  head: LaneHead,
  error: GatewayError,
): Promise<LaneStep> {
  const { ledger, lanes, events, log, languages } = shared;
  log.error({ err: error, lane: head.lane, seq: head.seq }, 'turn_dead');
  const payload = readTurnPayload(head.payload);
  const turn = payload instanceof GatewayError ? await ledger.turnAt(head) : payload;
  if (turn === undefined) return await lanes.finish(head, error.message);
  const { turnId, address } = turn;
  const replyTo = payload instanceof GatewayError ? undefined : answeredMessage(payload.message);
  const say = payload instanceof GatewayError ? languages.say({}) : await sayFor({ languages }, payload);
  const text = failureText(error, 'person', say);
  const because = cancelReason(textRef('cancelled.failed'));
  const plan = await ledger.planOf(turnId);
  const open = plan !== undefined && isOpenPlan(plan);
  if (open) await ledger.updatePlan(head, cancelPlan(plan, because.reason, because.why));
  const step = await ledger.finishTurn(head, {
    turnId,
    reason: 'failed',
    failure: failureOf(error),
    content: text,
    isError: true,
    userId: payload instanceof GatewayError ? '' : userIdOf(payload.message),
    usage: [],
    entries: [],
    outbound: deliveryOf(turnId, address, { content: text, isError: true, replyTo }),
    elsewhere: { message: elsewhereOf({ content: text, isError: true }), shownOn: [] },
    deadLetter: error.message,
  });
  const emitter = events.turn({
    sessionKey: sessionOf(head, address),
    turnId,
    epoch: head.epoch,
    textSoFar: text,
  });
  if (open) emitter.emit({ type: 'plan_cancelled', ...because });
  emitter.emit({ type: 'snapshot', text });
  emitter.emit({ type: 'turn_ended', reason: 'failed' });
  return step;
}

/** The session of an `in:` lane. */
function sessionOf(head: LaneHead, address: Address): SessionKey {
  const [, channel = '', rest = ''] = /^in:([^:]+):(.+)$/s.exec(head.lane) ?? [];
  return channel === '' ? address : `${channel}:${rest}`;
}
