/** The live reply of a turn in one chat: its growing message, the card of its plan, and the reaction to its question. */
import type { EventBus } from '../../protocol/bus.ts';
import type { LiveTurn, LiveTurnStart } from '../../protocol/delivery.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { parseAddress, type SentMessage } from '../../protocol/message.ts';
import { turnOfRef } from '../../protocol/sessions/surfaces.ts';
import type { DeliveryContext } from '../context.ts';
import { PlanCard, type PlanCards } from '../plan-card.ts';
import { type Reactions, stateAfter } from '../reactions.ts';
import { type CallListeners, isLate, redeliver } from './calls.ts';
import { LiveMessage } from './live-message.ts';
import { streamReply } from './stream-mode.ts';

/** Time between two checks of a waiting reply, in milliseconds. */
export const CHECK_EVERY_MS = 500;

/** Maximum number of replies remembered; one that is dropped is edited again, which changes nothing visible. */
export const MAX_SHOWN_TEXTS = 500;

type Texts = readonly (string | undefined)[];

/** The texts that settled replies show, until their final delivery, which then edits only what differs. */
export class ShownTexts {
  readonly #byRef = new Map<string, Texts>();

  keep(ref: string, texts: Texts): void {
    this.#byRef.set(ref, texts);
    const oldest = this.#byRef.keys().next().value;
    if (this.#byRef.size > MAX_SHOWN_TEXTS && oldest !== undefined) this.#byRef.delete(oldest);
  }

  /** Returns the texts and removes them: a second attempt cannot rely on them. */
  remove(ref: string): Texts {
    const texts = this.#byRef.get(ref) ?? [];
    this.#byRef.delete(ref);
    return texts;
  }
}

/** A message that follows the events of its turn until `end` is called. */
export interface GrowingMessage {
  message: LiveMessage;
  card: PlanCard | undefined;
  end: () => void;
}

/**
 * Opens a growing message, with `cards` also the plan's card; undefined in a chat without edits and typing.
 * `missedEvents` are those of the turn so far.
 */
export function grow(
  context: DeliveryContext,
  start: LiveTurnStart,
  listeners: CallListeners,
  cards?: PlanCards,
  missedEvents: readonly AgentEvent[] = [],
): GrowingMessage | undefined {
  const { channels, events, notes, log, streamModes } = context;
  const { turnId: ref, placeholders: storedParts } = start;
  const place = parseAddress(start.address);
  const channel = channels.get(place.channel);
  if (channel === undefined || (channel.edit === undefined && channel.typing === undefined)) return undefined;
  const note = (of: string, messages: SentMessage[]) => notes.save(place, of, messages, start.note);
  const placeholders = notes.latest(ref, storedParts);
  // What only this process knows is stored; if that fails, the next note includes it, too.
  if (placeholders.length > storedParts.length)
    note(ref, placeholders).catch((error: unknown) => {
      log.warn({ err: toGatewayError(error), turnId: ref }, 'late_note_failed');
    });
  const message = new LiveMessage(context, { ...start, placeholders }, channel, note, listeners);
  // A turn that continues after it was parked has left a card behind, which must not be edited any more.
  void cards?.release(ref);
  const card = cards && new PlanCard(context, start, channel, note, listeners.onCallEnded);
  const begin = (): void => {
    card?.begin();
    void streamReply(streamModes, start.address, channel, message);
  };
  if (message.begun) card?.begin();
  const stopWaiting = message.begun ? undefined : waitForEarlierAnswers(context, start, begin);
  for (const event of missedEvents) message.apply(event);
  const unsubscribe = events.subscribe({ turnId: turnOfRef(ref) }, (event) => {
    card?.apply(event);
    message.apply(event);
  });
  const end = (): void => {
    unsubscribe();
    stopWaiting?.();
  };
  return { message, card, end };
}

/** Calls `begin` once no earlier answer is undelivered; returns the function that ends the wait. Never throws. */
function waitForEarlierAnswers(
  { ledger, clock, log }: DeliveryContext,
  { address }: LiveTurnStart,
  begin: () => void,
): () => void {
  let isOver = false;
  let cancel = (): void => undefined;
  const checkLater = (): void => {
    if (!isOver) cancel = clock.after(CHECK_EVERY_MS, check);
  };
  const check = (): void => {
    ledger.undelivered(address).then(
      (waits) => {
        if (waits) checkLater();
        else if (!isOver) begin();
      },
      (error: unknown) => {
        log.debug({ err: toGatewayError(error) }, 'undelivered_check_failed');
        checkLater();
      },
    );
  };
  check();
  return () => {
    isOver = true;
    cancel();
  };
}

interface Afterwards {
  reactions: Reactions;
  cards: PlanCards;
  shownTexts: ShownTexts;
}

interface Settle {
  settle: LiveTurn['settle'];
}

const NOTHING_LIVE: Settle = { settle: () => Promise.resolve(undefined) };

/** Opens the reply in the turn's own chat; one that cannot be shown live affects only itself. Never throws. */
export function openReply(context: DeliveryContext, afterwards: Afterwards, start: LiveTurnStart): Settle {
  try {
    return growReply(context, afterwards, start);
  } catch (error) {
    context.log.warn({ err: toGatewayError(error) }, 'live_reply_unavailable');
    return NOTHING_LIVE;
  }
}

function growReply(
  context: DeliveryContext,
  { reactions, cards, shownTexts }: Afterwards,
  start: LiveTurnStart,
): Settle {
  const { turnId, address, question } = start;
  let isBlocked = false;
  const growing = grow(
    context,
    start,
    {
      onBlocked() {
        if (!isBlocked) void leaveOrStop(context, start);
        isBlocked = true;
      },
      onCallEnded(call) {
        if (isLate(call, context.bus.lease())) void redeliver(context, turnId, address);
      },
    },
    cards,
  );
  if (growing === undefined) return NOTHING_LIVE;
  if (question !== undefined) {
    reactions.show(question, 'working');
    reactToEnd(context.events, turnId, (state) => reactions.show(question, state));
  }
  const { message, card, end } = growing;
  return {
    async settle() {
      end();
      if (card?.hasPlan === true) await cards.keep(turnId, card);
      await message.settle();
      shownTexts.keep(turnId, message.shown);
      return message.calls.counts;
    },
  };
}

/** A turn that continues later, here or elsewhere, keeps its reaction until then. */
function reactToEnd(
  events: EventBus,
  turnId: string,
  show: (state: ReturnType<typeof stateAfter>) => void,
): void {
  const end = events.subscribe({ turnId }, (event) => {
    if (event.type !== 'turn_ended' || event.isSubagent === true) return;
    end();
    show(stateAfter(event.reason));
  });
}

/**
 * The bot can no longer write to the chat of the question. The session's other chats continue; without any, the turn is
 * stopped, because nobody can read its answer. Never throws.
 */
async function leaveOrStop(
  { dropSurface, ledger, lanes, bus, log }: DeliveryContext,
  { turnId, address }: LiveTurnStart,
): Promise<void> {
  try {
    if (await dropSurface(address)) return;
  } catch (error) {
    log.warn({ err: toGatewayError(error), address }, 'surface_not_dropped');
  }
  try {
    const session = await ledger.sessionOf(address);
    const { stopped } = await lanes.stop(session, { fresh: false });
    bus.notifyStop(`in:${session}`);
    log.info({ turnId, address, stopped }, 'unread_turn_stopped');
  } catch (error) {
    log.warn({ err: toGatewayError(error), turnId, address }, 'unread_turn_not_stopped');
  }
}
