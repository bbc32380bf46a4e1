/** Delivery: shows a turn's text in the channels, growing while the turn runs and exact when it has ended. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { EventBus, LaneHandler, LaneRunner, MessageBus } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { LaneStore } from '../contracts/store/lanes.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import { MAX_POSTS } from '../contracts/delivery.ts';
import type {
  AskedQuestion,
  LiveMessages,
  LiveTurn,
  LiveTurnStart,
  Post,
  PostResult,
  PostStore,
} from '../contracts/delivery.ts';
import type { Attachment, OutgoingFiles } from '../contracts/media.ts';
import type { PlanStore } from '../contracts/store/plan-store.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, parseAddress } from '../contracts/message.ts';
import type { FollowChatMigration, SentMessage } from '../contracts/message.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { watchForLateCalls } from './late-calls.ts';
import { LiveMessage } from './live-message.ts';
import { createOut } from './out.ts';

export { createAnswerFiles } from './files/answer-files.ts';
import { waitForEarlierDeliveries } from './wait-for-earlier.ts';
import { PartNotes } from './part-notes.ts';
import { PlanCard } from './plans/plan-card.ts';
import { PlanCards } from './plans/plan-cards.ts';
import { Reactions, stateAfter } from './reactions.ts';
import { Scheduler } from './scheduler.ts';
import { ShownTexts } from './shown-texts.ts';

export interface DeliveryDeps {
  /** The channels that are switched on, by name; may be filled later. */
  channels: Map<string, Channel>;
  ledger: Pick<
    Ledger,
    'sentParts' | 'noteSent' | 'undelivered' | 'finishDelivery' | 'enqueue' | 'sessionOf' | 'planOf' | 'turn'
  >;
  lanes: Pick<LaneStore, 'finish' | 'stop'>;
  plans: Pick<PlanStore, 'plan'>;
  events: Pick<EventBus, 'subscribe' | 'emit'>;
  /** The files that go out. */
  files: Pick<OutgoingFiles, 'copy' | 'write'>;
  log: Log;
  clock?: Clock;
  /** In [0, 1); spreads retries. */
  random?: () => number;
  /** Nothing is shown while this node does not hold its lanes; a turn whose chat is closed to the bot is stopped. */
  bus: Pick<MessageBus, 'isLeased' | 'notifyStop' | 'claimingNode' | 'runHeads'>;
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
  const { channels, log, events, ledger, clock = systemClock, random = Math.random } = deps;
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

  const open = (start: LiveTurnStart): LiveTurn => {
    const channel = channels.get(parseAddress(start.address).channel);
    // A channel that neither edits nor types has nothing to show before the delivery: it follows the events itself.
    const follows = channel?.edit !== undefined || channel?.typing !== undefined;
    if (channel === undefined || !follows) return NOTHING_LIVE;
    const scheduler = schedulerOf(channel);
    const place = parseAddress(start.address);
    const note = (ref: string, sent: SentMessage[]) => notes.save(place, ref, sent, start.note);
    const placeholders = notes.known(start.turnId, start.placeholders);
    if (placeholders.length > start.placeholders.length)
      void storeLate(note, start.turnId, placeholders, log);
    let blocked = false;
    const message = new LiveMessage(
      { ...start, placeholders },
      {
        channel,
        scheduler,
        clock,
        log,
        yieldToEventLoop,
        note,
        onAmbiguousSend,
        onCallEnded: watchForLateCalls(deps, start),
        onBlocked: () => {
          if (!blocked) void stopUnread(start);
          blocked = true;
        },
      },
    );
    // A turn that continues after it was parked has left a card behind, which must not be edited any more.
    void cards.release(start.turnId);
    const card = new PlanCard(start, { channel, scheduler, clock, sentParts, note, log, onAmbiguousSend });
    signTurn(start);
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
        return message.counts;
      },
    };
  };

  const out = createOut({
    channels,
    schedulerOf,
    ledger,
    notes,
    lanes: deps.lanes,
    files: deps.files,
    removeShown: (ref) => shown.remove(ref),
    card: {
      planOf: (turnId) => ledger.planOf(turnId),
      plan: async (id) => (await deps.plans.plan(id))?.plan,
      sentParts,
      cards,
      log,
    },
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
    noteWaiting: (question) => reactions.show(question, 'waiting'),
    close() {
      reactions.close();
      for (const scheduler of schedulers.values()) scheduler.close();
    },
  };
}

/** Why a chat does not take a file; undefined where it does. A channel that is off takes it once it is on again. */
function fileRefusal(
  { bytes }: Attachment,
  channel: Pick<Channel, 'capabilities'> | undefined,
): PostResult | undefined {
  if (channel === undefined) return undefined;
  const { media, maxFileBytes } = channel.capabilities;
  if (!media) return { kind: 'no_files' };
  return bytes > maxFileBytes ? { kind: 'too_large', limit: maxFileBytes } : undefined;
}

/** Stores what only this process knew; when that fails, the next note has it, too. Never throws. */
async function storeLate(
  note: (ref: string, sent: SentMessage[]) => Promise<void>,
  turnId: string,
  sent: SentMessage[],
  log: Log,
): Promise<void> {
  await note(turnId, sent).catch((error: unknown) => {
    log.warn({ err: toGatewayError(error), turnId }, 'late_note_failed');
  });
}

const NOTHING_LIVE: LiveTurn = { settle: () => Promise.resolve(undefined) };

/** A reply that cannot be shown live harms only itself. */
function openSafely(open: () => LiveTurn, log: Log): LiveTurn {
  try {
    return open();
  } catch (error) {
    log.warn({ err: toGatewayError(error) }, 'live_reply_unavailable');
    return NOTHING_LIVE;
  }
}

/** Makes `Post`: a message of a turn is committed when it resolves, then delivered like any answer; a turn has at most `limit`. */
export function createPost(
  posts: PostStore,
  bus: LaneRunner,
  channels: ReadonlyMap<string, Pick<Channel, 'capabilities'>>,
  limit = MAX_POSTS,
): Post {
  return async (request) => {
    const { channel } = parseAddress(request.address);
    // Over HTTP the stored message is the delivery, and takes what a session holds.
    const refusal =
      request.file && channel !== 'http' ? fileRefusal(request.file, channels.get(channel)) : undefined;
    if (refusal !== undefined) return refusal;
    const { heads, ...result } = await posts.post(request, limit, bus.claimingNode('out'));
    bus.runHeads({ heads });
    return result;
  };
}
