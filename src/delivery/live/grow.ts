/** Opens growing messages: each with its notes, its place in the order of the chat, and the card of its plan. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Channel } from '../../protocol/channel.ts';
import type { LiveTurnStart, StreamModes } from '../../protocol/delivery.ts';
import type { Log } from '../../protocol/log.ts';
import { parseAddress, type SentMessage } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SayIn } from '../../protocol/texts/say.ts';
import type { Clock } from '../../lib/clock.ts';
import { type PartNotes, storeLate } from '../final/part-notes.ts';
import type { PlanCard } from '../plans/plan-card.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import { streamReply } from '../stream/stream-mode.ts';
import type { GrowingCalls, GrowingMessage } from '../surfaces/live-surfaces.ts';
import { LiveMessage } from './live-message.ts';
import { toGatewayError } from '../../protocol/errors.ts';

/** Time between two checks of a waiting reply, in milliseconds. */
export const CHECK_EVERY_MS = 500;

interface EarlierDeliveries {
  /** True while earlier answers are undelivered. Throws `StoreError`. */
  undelivered: () => Promise<boolean>;
  clock: Clock;
  log: Log;
}

export interface GrowDeps {
  channels: ReadonlyMap<string, Channel>;
  schedulerOf(channel: Channel): Scheduler;
  ledger: Pick<Ledger, 'undelivered'>;
  notes: PartNotes;
  streamModes?: StreamModes | undefined;
  say: SayIn;
  log: Log;
  clock: Clock;
  onAmbiguousSend: () => void;
  /** This node's lease. */
  lease: () => string | undefined;
}

/** Records the messages that show a card. */
export type PlanCardNote = (ref: string, sent: SentMessage[]) => Promise<void>;

/**
 * Opens a growing message; undefined in a chat that supports neither edits nor typing. The message follows the events
 * on its own.
 */
export type Grow = (
  start: LiveTurnStart,
  calls: GrowingCalls,
  cardOf?: (channel: Channel, note: PlanCardNote) => PlanCard,
) => (GrowingMessage & { card: PlanCard | undefined }) | undefined;

/** Creates `Grow`. */
export function createGrow(deps: GrowDeps): Grow {
  const { ledger, notes, clock, log, say, onAmbiguousSend, lease } = deps;
  return (start, calls, cardOf) => {
    const place = parseAddress(start.address);
    const channel = deps.channels.get(place.channel);
    if (channel === undefined || (channel.edit === undefined && channel.typing === undefined))
      return undefined;
    const scheduler = deps.schedulerOf(channel);
    const note: PlanCardNote = (ref, sent) => notes.save(place, ref, sent, start.note);
    const placeholders = notes.known(start.turnId, start.placeholders);
    if (placeholders.length > start.placeholders.length)
      void storeLate(note, start.turnId, placeholders, log);
    const shared = { channel, scheduler, clock, log, note, say, onAmbiguousSend, lease };
    const yieldToEventLoop = () => immediate();
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
}

/** Calls `begin` once no earlier answer is undelivered; returns the function that ends the wait. Never throws. */
function waitForEarlierDeliveries(
  { undelivered, clock, log }: EarlierDeliveries,
  begin: () => void,
): () => void {
  let ended = false;
  let cancel = (): void => undefined;
  const later = (): void => {
    if (!ended) cancel = clock.after(CHECK_EVERY_MS, check);
  };
  const check = (): void => {
    undelivered().then(
      (waits) => {
        if (waits) later();
        else if (!ended) begin();
      },
      (error: unknown) => {
        log.debug({ err: toGatewayError(error) }, 'undelivered_check_failed');
        later();
      },
    );
  };
  check();
  return () => {
    ended = true;
    cancel();
  };
}
