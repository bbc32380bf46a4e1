/** Delivery: shows a turn's text in the channels, growing while the turn runs and exact when it has ended. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { EventBus, LaneHandler, MessageBus } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { LaneStore } from '../contracts/store/lanes.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import type {
  AskedQuestion,
  LiveMessages,
  LiveTurn,
  LiveTurnStart,
  StreamModes,
} from '../contracts/delivery.ts';
import type { OutgoingFiles } from '../contracts/media.ts';
import type { PlanStore } from '../contracts/store/plan-store.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, parseAddress, type FollowChatMigration, type SentMessage } from '../contracts/message.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import type { DropSurface, SurfaceStore } from '../contracts/sessions/surfaces.ts';
import { watchForLateCalls } from './live/late-calls.ts';
import { LiveMessage } from './live/live-message.ts';
import { createOut } from './final/out.ts';

export { createStreamCommand, createStreamModes } from './stream/stream-mode.ts';
export { createAnswerFiles } from './files/answer-files.ts';
export { createPost } from './final/post.ts';
export { configureWebhooks, createWebhooks, webhooksRule, type Webhook } from './webhooks/webhooks.ts';
import { waitForEarlierDeliveries } from './live/wait-for-earlier.ts';
import { PartNotes, storeLate } from './final/part-notes.ts';
import { PlanCard } from './plans/plan-card.ts';
import { PlanCards } from './plans/plan-cards.ts';
import { OldButtons } from './old-buttons.ts';
import { Reactions, stateAfter } from './reactions.ts';
import { countsOf, Scheduler } from './rate/scheduler.ts';
import { ShownTexts } from './live/shown-texts.ts';
import { streamReply } from './stream/stream-mode.ts';
import type { GrowingCalls, GrowingMessage } from './surfaces/live-surfaces.ts';
import { createOpenSurfaces } from './surfaces/open-surfaces.ts';
import type { SayIn } from '../contracts/texts/say.ts';

type PlanCardNote = (ref: string, sent: SentMessage[]) => Promise<void>;

export interface DeliveryDeps {
  /** The channels that are switched on, by name; may be filled later. */
  channels: Map<string, Channel>;
  ledger: Pick<
    Ledger,
    | 'sentParts'
    | 'sentAmong'
    | 'noteSent'
    | 'undelivered'
    | 'finishDelivery'
    | 'enqueue'
    | 'sessionOf'
    | 'planOf'
    | 'turn'
  >;
  lanes: Pick<LaneStore, 'finish' | 'stop' | 'noteWaiting'>;
  plans: Pick<PlanStore, 'plan'>;
  events: Pick<EventBus, 'subscribe' | 'emit' | 'replay'>;
  /** The files that go out. */
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  /** How answers appear in a chat; in growing messages by default. */
  streamModes?: StreamModes;
  log: Log;
  clock?: Clock;
  /** In [0, 1); spreads retries. */
  random?: () => number;
  /** Nothing is shown while this node does not hold its lanes; a turn whose chat is closed to the bot is stopped. */
  bus: Pick<MessageBus, 'isLeased' | 'notifyStop' | 'claimingNode' | 'runHeads'>;
  /** The chats that share a session; how one leaves it that the bot can no longer write to. */
  surfaces: Pick<SurfaceStore, 'surfaces' | 'surface'>;
  dropSurface: DropSurface;
  /** What the delivery itself says beside answers. */
  say: SayIn;
  /** Called for a chat that has a new id (a group that became a supergroup). */
  followMigration: FollowChatMigration;
}

/** Totals since the start, for the metrics. */
export interface DeliveryCounts {
  /** Calls to platforms, and those answered "too fast". */
  calls: number;
  refused: number;
  /** Sends whose answer was lost: they may be visible twice. */
  ambiguousSends: number;
  /** Deliveries given up. */
  dead: number;
}

export interface Delivery {
  live: LiveMessages;
  out: LaneHandler;
  counts(): DeliveryCounts;
  /** A question waits for its turn. Never throws. */
  noteWaiting(question: AskedQuestion): void;
  /** Ends all waits; calling it twice is fine. Call it when the lanes are drained. Never throws. */
  close(): void;
}

/** Makes the delivery; nothing is sent before a turn opens or a lane's head arrives. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { channels, log, events, ledger, say, clock = systemClock, random = Math.random } = deps;
  const schedulers = new Map<string, Scheduler>();
  const shown = new ShownTexts();
  const cards = new PlanCards();
  const notes = new PartNotes({ ledger, bus: deps.bus, log });
  const sentParts = async (ref: string) => notes.known(ref, await ledger.sentParts(ref));
  const own = { ambiguousSends: 0, dead: 0 };
  const yieldToEventLoop = () => immediate();
  const onAmbiguousSend = () => void own.ambiguousSends++;

  const schedulerOf = (channel: Channel): Scheduler => {
    const known = schedulers.get(channel.name);
    if (known !== undefined) return known;
    const made = new Scheduler(clock, channel.capabilities.rates, () => deps.bus.isLeased());
    schedulers.set(channel.name, made);
    return made;
  };

  /** Stops the turn as `/stop` does: nobody can read its answer. */
  const stopUnread = async ({ turnId, address }: LiveTurnStart): Promise<void> => {
    try {
      const session = await ledger.sessionOf(address);
      const { stopped } = await deps.lanes.stop(session, { fresh: false });
      deps.bus.notifyStop(`in:${session}`);
      log.info({ turnId, address, stopped }, 'unread_turn_stopped');
    } catch (error) {
      log.warn({ err: toGatewayError(error), turnId, address }, 'unread_turn_not_stopped');
    }
  };

  const reactions = new Reactions({ channels, schedulerOf, clock, log });
  const oldButtons = new OldButtons({ schedulerOf, ledger, clock, log });

  /** A turn that is continued later, here or elsewhere, keeps its sign until then. */
  const signTurn = ({ turnId, question }: LiveTurnStart): void => {
    if (question === undefined) return;
    reactions.show(question, 'working');
    const end = events.subscribe({ turnId }, (event) => {
      if (event.type !== 'turn_ended' || event.isSubagent === true) return;
      end();
      reactions.show(question, stateAfter(event.reason));
    });
  };

  /** A message that grows in the chat of `start`; undefined in one that neither edits nor types: it follows the events itself. */
  const grow = (
    start: LiveTurnStart,
    calls: GrowingCalls,
    cardOf?: (channel: Channel, note: PlanCardNote) => PlanCard,
  ): (GrowingMessage & { card: PlanCard | undefined }) | undefined => {
    const place = parseAddress(start.address);
    const channel = channels.get(place.channel);
    if (channel === undefined || (channel.edit === undefined && channel.typing === undefined))
      return undefined;
    const scheduler = schedulerOf(channel);
    const note = (ref: string, sent: SentMessage[]) => notes.save(place, ref, sent, start.note);
    const placeholders = notes.known(start.turnId, start.placeholders);
    if (placeholders.length > start.placeholders.length)
      void storeLate(note, start.turnId, placeholders, log);
    const shared = { channel, scheduler, clock, log, note, say, onAmbiguousSend };
    const message = new LiveMessage({ ...start, placeholders }, { ...shared, ...calls, yieldToEventLoop });
    const card = cardOf?.(channel, note);
    const earlier = { undelivered: () => ledger.undelivered(start.address), clock, log };
    const begin = (): void => {
      card?.begin();
      void streamReply(deps.streamModes, start, channel, message);
    };
    const stopWaiting = message.begun ? undefined : waitForEarlierDeliveries(earlier, begin);
    if (message.begun) card?.begin();
    return { message, stopWaiting, card };
  };

  const surfaces = createOpenSurfaces({
    grow,
    store: deps.surfaces,
    drop: deps.dropSurface,
    events,
    ledger,
    bus: deps.bus,
    keepShown: (ref, texts) => shown.keep(ref, texts),
    log,
  });

  /** Nobody reads the answer in its own chat any more: the other chats of the session still do, or it is stopped. */
  const leaveOrStop = async (start: LiveTurnStart): Promise<void> => {
    try {
      if (await deps.dropSurface(start.address)) return;
    } catch (error) {
      log.warn({ err: toGatewayError(error), address: start.address }, 'surface_not_dropped');
    }
    await stopUnread(start);
  };

  const openHere = (start: LiveTurnStart): Pick<LiveTurn, 'settle'> => {
    let blocked = false;
    const onBlocked = (): void => {
      if (!blocked) void leaveOrStop(start);
      blocked = true;
    };
    const calls = { onBlocked, onCallEnded: watchForLateCalls(deps, start) };
    const grown = grow(start, calls, (channel, note) => {
      // A turn that continues after it was parked has left a card behind, which must not be edited any more.
      void cards.release(start.turnId);
      const scheduler = schedulerOf(channel);
      return new PlanCard(start, { channel, scheduler, clock, sentParts, note, log, say, onAmbiguousSend });
    });
    if (grown === undefined) return NOTHING_LIVE;
    const { message, stopWaiting, card } = grown;
    signTurn(start);
    const unsubscribe = events.subscribe({ turnId: start.turnId }, (event) => {
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
  };

  const open = (start: LiveTurnStart): LiveTurn => {
    const here = openSafely(() => openHere(start), log);
    const others = surfaces.open(start);
    return {
      settle() {
        others.settle();
        return here.settle();
      },
      shownOn: () => others.shownOn,
    };
  };

  const out = createOut({
    channels,
    schedulerOf,
    ledger,
    notes,
    lanes: deps.lanes,
    files: deps.files,
    settled: (ref) => surfaces.settled(ref),
    removeShown: (ref) => shown.remove(ref),
    card: {
      planOf: (turnId) => ledger.planOf(turnId),
      plan: async (id) => (await deps.plans.plan(id))?.plan,
      sentParts,
      cards,
      say,
      log,
    },
    oldButtons,
    say,
    clock,
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
      if (error.code === 'blocked') await deps.dropSurface(addressOf(payload.message));
      const session = await ledger.sessionOf(addressOf(payload.message));
      const text = say(payload.message)('missed.notice', { why: error.message });
      events.emit(session, { type: 'notice', code: 'dead_letter', text });
    },
  });

  return {
    live: { open },
    out,
    counts: () => ({ ...own, ...countsOf([...schedulers.values()]) }),
    noteWaiting: (question) => reactions.show(question, 'waiting'),
    close() {
      for (const one of [reactions, oldButtons, ...schedulers.values()]) one.close();
    },
  };
}

const NOTHING_LIVE: Pick<LiveTurn, 'settle'> = { settle: () => Promise.resolve(undefined) };

/** A reply that cannot be shown live harms only itself. */
function openSafely(open: () => Pick<LiveTurn, 'settle'>, log: Log): Pick<LiveTurn, 'settle'> {
  try {
    return open();
  } catch (error) {
    log.warn({ err: toGatewayError(error) }, 'live_reply_unavailable');
    return NOTHING_LIVE;
  }
}
