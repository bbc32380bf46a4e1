/** The live reply of a turn in its own chat: the message, the card of its plan, and the reaction to its question. */
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import type { LiveTurn, LiveTurnStart } from '../../protocol/delivery.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { SentMessage } from '../../protocol/message.ts';
import type { DropSurface } from '../../protocol/sessions/surfaces.ts';
import type { LaneStore } from '../../protocol/store/lanes.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { PlanCard } from '../plans/plan-card.ts';
import type { PlanCards } from '../plans/plan-cards.ts';
import { type Reactions, stateAfter } from '../reactions.ts';
import type { Grow, GrowDeps } from './grow.ts';
import { type LateCallDeps, watchForLateCalls } from './late-calls.ts';
import type { ShownTexts } from './shown-texts.ts';

export interface ReplyDeps extends Pick<
  GrowDeps,
  'schedulerOf' | 'say' | 'log' | 'clock' | 'onAmbiguousSend'
> {
  grow: Grow;
  ledger: LateCallDeps['ledger'] & Pick<Ledger, 'sessionOf'>;
  bus: LateCallDeps['bus'] & Pick<MessageBus, 'notifyStop'>;
  lanes: Pick<LaneStore, 'stop'>;
  events: Pick<EventBus, 'subscribe'>;
  dropSurface: DropSurface;
  reactions: Pick<Reactions, 'show'>;
  cards: PlanCards;
  shown: Pick<ShownTexts, 'keep'>;
  /** Ids of the messages that show a delivery. */
  sentParts: (ref: string) => Promise<SentMessage[]>;
}

/** The end of a live reply. */
export type Settle = Pick<LiveTurn, 'settle'>;

const NOTHING_LIVE: Settle = { settle: () => Promise.resolve(undefined) };

/** Opens the reply; a reply that cannot be shown live affects only itself. Never throws. */
export function openReply(deps: ReplyDeps, start: LiveTurnStart): Settle {
  try {
    return growReply(deps, start);
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error) }, 'live_reply_unavailable');
    return NOTHING_LIVE;
  }
}

function growReply(deps: ReplyDeps, start: LiveTurnStart): Settle {
  const { cards, shown } = deps;
  const calls = {
    onBlocked: once(() => leaveOrStop(deps, start)),
    onCallEnded: watchForLateCalls(deps, start),
  };
  const grown = deps.grow(start, calls, (channel, note) => {
    // A turn that continues after it was parked has left a card behind, which must not be edited any more.
    void cards.release(start.turnId);
    const scheduler = deps.schedulerOf(channel);
    const { onCallEnded } = calls;
    return new PlanCard(start, {
      ...deps,
      channel,
      scheduler,
      note,
      lease: () => deps.bus.lease(),
      onCallEnded,
    });
  });
  if (grown === undefined) return NOTHING_LIVE;
  const { message, stopWaiting, card } = grown;
  reactToQuestion(deps, start);
  const unsubscribe = deps.events.subscribe({ turnId: start.turnId }, (event) => {
    card?.apply(event);
    message.apply(event);
  });
  return {
    async settle() {
      unsubscribe();
      stopWaiting?.();
      if (card?.hasPlan === true) await cards.keep(start.turnId, card);
      await message.settle();
      shown.keep(start.turnId, message.shown);
      return message.calls.counts;
    },
  };
}

/** A turn that continues later, here or elsewhere, keeps its reaction until then. */
function reactToQuestion({ events, reactions }: ReplyDeps, { turnId, question }: LiveTurnStart): void {
  if (question === undefined) return;
  reactions.show(question, 'working');
  const end = events.subscribe({ turnId }, (event) => {
    if (event.type !== 'turn_ended' || event.isSubagent === true) return;
    end();
    reactions.show(question, stateAfter(event.reason));
  });
}

/**
 * The bot can no longer write to the chat of the question: the other chats of the session continue, or the turn is
 * stopped.
 */
async function leaveOrStop(deps: ReplyDeps, start: LiveTurnStart): Promise<void> {
  try {
    if (await deps.dropSurface(start.address)) return;
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error), address: start.address }, 'surface_not_dropped');
  }
  await stopUnread(deps, start);
}

/** Stops the turn like `/stop` does: its answer has no reader. Never throws. */
async function stopUnread(
  { ledger, lanes, bus, log }: ReplyDeps,
  { turnId, address }: LiveTurnStart,
): Promise<void> {
  try {
    const session = await ledger.sessionOf(address);
    const { stopped } = await lanes.stop(session, { fresh: false });
    bus.notifyStop(`in:${session}`);
    log.info({ turnId, address, stopped }, 'unread_turn_stopped');
  } catch (error) {
    log.warn({ err: toGatewayError(error), turnId, address }, 'unread_turn_not_stopped');
  }
}

/** Acts on the first call only. */
function once(act: () => Promise<void>): () => void {
  let done = false;
  return () => {
    if (!done) void act();
    done = true;
  };
}
