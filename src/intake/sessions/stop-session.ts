/** Ends what a session does, and words that for people. */
import type { MessageBus } from '../../protocol/bus.ts';
import type { LaneStore, StopResult } from '../../protocol/store/lanes.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

export interface StopDeps {
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
}

/** Stops a session: the mark is committed before this resolves, then the node that runs the turn is notified. */
export async function stopSession(deps: StopDeps, session: SessionKey, fresh: boolean): Promise<StopResult> {
  const result = await deps.lanes.stop(session, { fresh });
  deps.bus.notifyStop(`in:${session}`);
  deps.bus.sweepSoon();
  return result;
}

/** What `/stop` has ended, in words; `nothing`, or an empty text, when it was nothing. */
export function describeStop(result: StopResult, say: Say, nothing?: PlainKey): string {
  const agents = result.agents === undefined ? [] : [say('stop.agents', { agents: result.agents })];
  const dropped = result.cancelled === 0 ? [] : [say('stop.dropped', { count: result.cancelled })];
  if (result.stopped) return [say('stop.stopped'), ...dropped, ...agents].join(' ');
  if (result.cancelled > 0) return [say('stop.was_idle'), ...dropped, ...agents].join(' ');
  return agents.join(' ') || (nothing === undefined ? '' : say(nothing));
}
