/** Delivery: shows a turn's text in the channels, growing while the turn runs and exact once it has ended. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { EventBus, LaneHandler, MessageBus } from '../protocol/bus.ts';
import type { Channel } from '../protocol/channel.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type {
  AskedQuestion,
  LiveMessages,
  LiveTurn,
  LiveTurnStart,
  StreamModes,
} from '../protocol/delivery.ts';
import type { OutgoingFiles } from '../protocol/media.ts';
import type { PlanStore } from '../protocol/agent/plan-store.ts';
import type { Log } from '../protocol/log.ts';
import { addressOf, type FollowChatMigration } from '../protocol/message.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { DropSurface, SurfaceStore } from '../protocol/sessions/surfaces.ts';
import { createGrow } from './live/grow.ts';
import { openReply } from './live/reply.ts';
import { createOut, type OutDeps } from './final/out.ts';

export { createStreamCommand, createStreamModes } from './stream/stream-mode.ts';
export { createAnswerFiles } from './files/answer-files.ts';
export { createPost } from './final/post.ts';
export { configureWebhooks, createWebhooks, webhooksRule, type Webhook } from './webhooks/webhooks.ts';
import { PartNotes } from './final/part-notes.ts';
import { PlanCards } from './plans/plan-cards.ts';
import { OldButtons } from './old-buttons.ts';
import { Reactions } from './reactions.ts';
import { type Scheduler, Schedulers } from './rate/scheduler.ts';
import { ShownTexts } from './live/shown-texts.ts';
import { createOpenSurfaces, type OpenSurfacesDeps } from './surfaces/open-surfaces.ts';
import type { SayIn } from '../protocol/texts/say.ts';

export interface DeliveryDeps {
  /** The enabled channels, by name; may be filled later. */
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
  /** The files to send. */
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  /** How answers appear in a chat; in growing messages by default. */
  streamModes?: StreamModes;
  log: Log;
  clock?: Clock;
  /** In [0, 1); spreads retries. */
  random?: () => number;
  /** Nothing is shown while this node does not hold its lanes; a turn whose chat is closed to the bot is stopped. */
  bus: Pick<MessageBus, 'lease' | 'notifyStop' | 'claimingNode' | 'runHeads'>;
  /** The chats that share a session; lets a chat that the bot can no longer write to leave its session. */
  surfaces: Pick<SurfaceStore, 'surfaces' | 'surface'>;
  dropSurface: DropSurface;
  /** What the delivery itself says besides answers. */
  say: SayIn;
  /** Called for a chat that has a new id (a group that became a supergroup). */
  followMigration: FollowChatMigration;
}

/** Totals since startup, for the metrics. */
export interface DeliveryCounts {
  /** Calls to the platform of each channel used so far, and those answered "too fast". */
  platforms: ReadonlyMap<string, { readonly calls: number; readonly refused: number }>;
  /** Sends whose answer was lost: they may be visible twice. */
  ambiguousSends: number;
  /** Abandoned deliveries. */
  dead: number;
}

export interface Delivery {
  live: LiveMessages;
  out: LaneHandler;
  counts(): DeliveryCounts;
  /** A question is waiting for its turn. Never throws. */
  noteWaiting(question: AskedQuestion): void;
  /** Ends all waits; may be called twice. Call it when the lanes are drained. Never throws. */
  close(): void;
}

/** Creates the delivery; nothing is sent before a turn opens or a lane's head arrives. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const { channels, log, events, ledger, say, bus, lanes, clock = systemClock } = deps;
  const { dropSurface, streamModes } = deps;
  const schedulers = new Schedulers(clock, () => bus.lease() !== undefined);
  const schedulerOf = (channel: Channel): Scheduler => schedulers.of(channel);
  const shown = new ShownTexts();
  const cards = new PlanCards();
  const notes = new PartNotes({ ledger, bus, clock, log });
  const sentParts = async (ref: string) => notes.known(ref, await ledger.sentParts(ref));
  const own = { ambiguousSends: 0, dead: 0 };
  const onAmbiguousSend = () => void own.ambiguousSends++;
  const onDead = () => void own.dead++;
  const reactions = new Reactions({ channels, schedulerOf, clock, log });
  const oldButtons = new OldButtons({ schedulerOf, ledger, clock, log });

  const shared = { channels, schedulerOf, ledger, notes, say, log, clock, onAmbiguousSend };
  const grow = createGrow({ ...shared, streamModes, lease: () => bus.lease() });
  const keepShown: OpenSurfacesDeps['keepShown'] = (ref, texts) => shown.keep(ref, texts);
  const chats = { grow, events, ledger, bus, log };
  const surfaces = createOpenSurfaces({ ...chats, store: deps.surfaces, drop: dropSurface, keepShown });
  const reply = { ...shared, ...chats, lanes, dropSurface, reactions, cards, shown, sentParts };
  const open = (start: LiveTurnStart): LiveTurn => {
    const here = openReply(reply, start);
    const others = surfaces.open(start);
    return {
      settle() {
        others.settle();
        return here.settle();
      },
      shownOn: () => others.shownOn,
    };
  };
  return {
    live: { open },
    out: createOut({
      ...shared,
      ...endsOfDeliveries(deps, onDead),
      lanes,
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
      random: deps.random ?? Math.random,
      yieldToEventLoop: () => immediate(),
    }),
    counts: () => ({ ...own, platforms: schedulers.counts() }),
    noteWaiting: (question) => reactions.show(question, 'waiting'),
    close() {
      for (const one of [reactions, oldButtons, schedulers, notes]) one.close();
    },
  };
}

/** What happens after a chat has moved, and after a delivery was abandoned. */
function endsOfDeliveries(
  { followMigration, dropSurface, ledger, events, say, log }: DeliveryDeps,
  countDead: () => void,
): Pick<OutDeps, 'onChatMoved' | 'onDead'> {
  return {
    onChatMoved: (move) =>
      void followMigration(move).catch((error: unknown) => {
        log.warn({ err: toGatewayError(error), ...move }, 'chat_migration_failed');
      }),
    async onDead(payload, error) {
      countDead();
      if (error.code === 'blocked') await dropSurface(addressOf(payload.message));
      const session = await ledger.sessionOf(addressOf(payload.message));
      const text = say(payload.message)('missed.notice', { why: error.message });
      events.emit(session, { type: 'notice', code: 'dead_letter', text });
    },
  };
}
