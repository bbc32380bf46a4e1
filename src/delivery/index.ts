/** Delivery: shows what a turn says on the screens of the channels, growing while it runs and exact when it is done. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { EventBus, LaneHandler, LaneRunner } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Ledger } from '../contracts/ledger.ts';
import { MAX_POSTS } from '../contracts/delivery.ts';
import type { LiveMessages, LiveTurn, LiveTurnStart, Post, PostStore } from '../contracts/delivery.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, parseAddress } from '../contracts/message.ts';
import type { FollowChatMigration } from '../contracts/message.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { LiveMessage } from './live-message.ts';
import { createOut } from './out.ts';
import { waitForEarlierDeliveries } from './wait-for-earlier.ts';
import { PlanCard } from './plans/plan-card.ts';
import { PlanCards } from './plans/plan-cards.ts';
import { Scheduler } from './scheduler.ts';
import { ShownTexts } from './shown-texts.ts';

export interface DeliveryDeps {
  /** The channels that are switched on, by name; may be filled later. */
  channels: Map<string, Channel>;
  ledger: Pick<Ledger, 'sentParts' | 'noteSent' | 'undelivered' | 'finishDelivery' | 'sessionOf' | 'planOf'>;
  lanes: Pick<LaneStore, 'finish'>;
  events: Pick<EventBus, 'subscribe' | 'emit'>;
  log: Log;
  clock?: Clock;
  /** In [0, 1); spreads retries. */
  random?: () => number;
  /** Called for a chat that has a new id (a group that became a supergroup). */
  followMigration: FollowChatMigration;
}

/** Totals since the start, for the metrics. */
export interface DeliveryCounts {
  /** Calls to platforms, and those answered "too fast". */
  calls: number;
  refused: number;
  /** Sends whose answer was lost: they may stand on a screen twice. */
  ambiguousSends: number;
  /** Deliveries given up. */
  dead: number;
}

export interface Delivery {
  live: LiveMessages;
  out: LaneHandler;
  counts(): DeliveryCounts;
  /** Ends all waiting; twice is fine. Call it when the lanes are drained. Never throws. */
  close(): void;
}

/** Makes the delivery; nothing is sent before a turn opens or a lane's head arrives. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { channels, log, events, ledger, clock = systemClock, random = Math.random } = deps;
  const schedulers = new Map<string, Scheduler>();
  const shown = new ShownTexts();
  const cards = new PlanCards();
  const sentParts = (ref: string) => ledger.sentParts(ref);
  const own = { ambiguousSends: 0, dead: 0 };
  const yieldToEventLoop = () => immediate();
  const onAmbiguousSend = () => void own.ambiguousSends++;

  const schedulerOf = (channel: Channel): Scheduler => {
    const known = schedulers.get(channel.name);
    if (known !== undefined) return known;
    const made = new Scheduler(clock, (chatId) => channel.capabilities.editIntervalMs(chatId));
    schedulers.set(channel.name, made);
    return made;
  };

  const open = (start: LiveTurnStart): LiveTurn => {
    const channel = channels.get(parseAddress(start.address).channel);
    // A channel that neither edits nor types has nothing to show before the delivery: it follows the events itself.
    const follows = channel?.edit !== undefined || channel?.typing !== undefined;
    if (channel === undefined || !follows) return { settle: () => Promise.resolve() };
    const scheduler = schedulerOf(channel);
    const message = new LiveMessage(start, {
      channel,
      scheduler,
      clock,
      log,
      yieldToEventLoop,
      onAmbiguousSend,
    });
    // A turn that goes on after a wait has left its card behind: that one must show nothing old any more.
    void cards.release(start.turnId);
    const card = new PlanCard(start, { channel, scheduler, sentParts, log, onAmbiguousSend });
    const unsubscribe = events.subscribe({ turnId: start.turnId }, (event) => {
      card.apply(event);
      message.apply(event);
    });
    const earlier = { undelivered: () => ledger.undelivered(start.address), clock, log };
    const begin = (): void => {
      card.begin();
      message.begin();
    };
    const stopWaiting = message.begun ? undefined : waitForEarlierDeliveries(earlier, begin);
    if (message.begun) card.begin();
    return {
      async settle() {
        unsubscribe();
        stopWaiting?.();
        if (card.hasPlan) await cards.keep(start.turnId, card);
        await message.settle();
        shown.keep(start.turnId, message.shown);
      },
    };
  };

  const out = createOut({
    channels,
    schedulerOf,
    ledger,
    lanes: deps.lanes,
    removeShown: (ref) => shown.remove(ref),
    card: { planOf: (turnId) => ledger.planOf(turnId), sentParts, cards, log },
    log,
    random,
    yieldToEventLoop,
    onAmbiguousSend,
    onChatMoved: (move) =>
      void deps.followMigration(move).catch((error: unknown) => {
        log.warn({ err: toGatewayError(error), ...move }, 'chat_migration_failed');
      }),
    async onDead(payload, error) {
      own.dead++;
      const session = await ledger.sessionOf(addressOf(payload.message));
      events.emit(session, {
        type: 'notice',
        code: 'dead_letter',
        text: `An answer could not be delivered: ${error.message}`,
      });
    },
  });

  return {
    live: { open: (start) => openSafely(() => open(start), log) },
    out,
    counts() {
      const all = [...schedulers.values()].map((scheduler) => scheduler.counts);
      const sum = (pick: (counts: Scheduler['counts']) => number) =>
        all.reduce((total, counts) => total + pick(counts), 0);
      return { ...own, calls: sum((counts) => counts.calls), refused: sum((counts) => counts.refused) };
    },
    close() {
      for (const scheduler of schedulers.values()) scheduler.close();
    },
  };
}

/** A reply that cannot be shown live harms only itself. */
function openSafely(open: () => LiveTurn, log: Log): LiveTurn {
  try {
    return open();
  } catch (error) {
    log.warn({ err: toGatewayError(error) }, 'live_reply_unavailable');
    return { settle: () => Promise.resolve() };
  }
}

/** Makes `Post`: a message in the middle of a turn is committed when it resolves, then delivered like any answer. */
export function createPost(posts: PostStore, bus: LaneRunner): Post {
  return async (request) => {
    const { heads, ...result } = await posts.post(request, MAX_POSTS, bus.claimingNode('out'));
    bus.runHeads({ heads });
    return result;
  };
}
