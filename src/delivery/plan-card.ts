/** The card of a turn's plan: one message per plan, edited in place while the plan runs. */
import type { Channel, OutboundPart } from '../protocol/channel.ts';
import type { LiveTurnStart } from '../protocol/delivery.ts';
import { ChannelError, toGatewayError } from '../protocol/errors.ts';
import type { AgentEvent } from '../protocol/event.ts';
import { advancePlan, type PlanEventView } from '../protocol/isomorphic/plan-reducer.js';
import { parseAddress, type Place, type SentMessage } from '../protocol/message.ts';
import { cardRef } from '../protocol/agent/plan-store.ts';
import type { Say } from '../protocol/texts/say.ts';
import type { DeliveryContext } from './context.ts';
import type { Delivering } from './final/part-delivery.ts';
import { nonceOf, type NoteParts } from './final/part-notes.ts';
import type { EndedCall } from './live/calls.ts';
import type { LiveEdit, Scheduler } from './rate/scheduler.ts';
import { lookOf, planButtons, renderPlan } from './render-plan.ts';
import { type RenderTarget, targetOf } from './text/cut.ts';

/** After this many failed calls in a row the card is left to the final delivery. */
const MAX_FAILURES = 3;

interface Card {
  planId: string;
  message: SentMessage | undefined;
}

/** State of a card when its turn has ended. */
export interface CardOnScreen {
  ref: string;
  /** As returned by `lookOf`. */
  look: string | undefined;
  message: SentMessage | undefined;
}

/** The card of a turn's plan with its current activity (S-35, S-48). The final delivery makes up for missed updates. */
export class PlanCard implements LiveEdit {
  readonly #context: DeliveryContext;
  readonly #start: LiveTurnStart;
  readonly #channel: Channel;
  readonly #scheduler: Scheduler;
  readonly #storeParts: NoteParts;
  readonly #onCallEnded: (call: EndedCall) => void;
  readonly #place: Place;
  readonly #target: RenderTarget;
  #view: PlanEventView | undefined;
  #card: Card | undefined;
  #look: string | undefined;
  #shownAt: number | undefined;
  #begun = false;
  #frozen: boolean;
  #failures = 0;
  #inFlight: Promise<unknown> = Promise.resolve();

  constructor(
    context: DeliveryContext,
    start: LiveTurnStart,
    channel: Channel,
    storeParts: NoteParts,
    onCallEnded: (call: EndedCall) => void,
  ) {
    this.#context = context;
    this.#start = start;
    this.#channel = channel;
    this.#scheduler = context.schedulerOf(channel);
    this.#storeParts = storeParts;
    this.#onCallEnded = onCallEnded;
    this.#place = parseAddress(start.address);
    this.#target = targetOf(channel);
    this.#frozen = channel.edit === undefined;
    this.#view = start.plan && { plan: start.plan };
  }

  /** Applies one event of the turn. Never throws. */
  apply(event: AgentEvent): void {
    if (this.#frozen || event.isSubagent === true || event.type === 'stream_chunk') return;
    const next = advancePlan(this.#view, event);
    if (next === this.#view) return;
    this.#view = next;
    this.#requestEdit();
  }

  /** Earlier answers are on screen: the card may follow them. */
  begin(): void {
    this.#begun = true;
    this.#requestEdit();
  }

  get shownAt(): number | undefined {
    return this.#shownAt;
  }

  async show(): ReturnType<LiveEdit['show']> {
    const call = this.#put();
    // The scheduler handles the failure; `release` only needs to know that the call has ended.
    this.#inFlight = call.catch(() => undefined);
    return await call;
  }

  get hasPlan(): boolean {
    return this.#view !== undefined;
  }

  /** Makes no further call; resolves when the one in flight has ended, with what is certain to be on screen. Never throws. */
  async release(): Promise<CardOnScreen> {
    this.#frozen = true;
    this.#scheduler.cancelEdit(this);
    await this.#inFlight;
    return { ref: cardRef(this.#view?.plan.id ?? ''), look: this.#look, message: this.#card?.message };
  }

  #requestEdit(): void {
    if (this.#begun && this.#view !== undefined && !this.#frozen)
      this.#scheduler.requestEdit({ place: this.#place }, this);
  }

  async #put(): ReturnType<LiveEdit['show']> {
    const view = this.#view;
    const lease = this.#context.bus.lease();
    if (view === undefined || this.#frozen) return 'nothing';
    try {
      const card = await this.#cardOf(view.plan.id);
      const say = this.#context.say({ ...this.#place, language: view.plan.language ?? this.#start.language });
      const body = renderPlan(view.plan, this.#target, noteOf(view, say), say);
      const buttons = planButtons(view.plan, say);
      const look = lookOf(body, buttons);
      if (this.#frozen || (card.message !== undefined && this.#look === look)) return 'nothing';
      const part = { ...this.#place, body, buttons, nonce: nonceOf(cardRef(card.planId), 0) };
      await this.#call(card, part, lease);
      this.#look = look;
      this.#shownAt = this.#context.clock.monotonicMs();
      this.#failures = 0;
    } catch (error) {
      this.#handleFailure(error);
    }
    return !this.#frozen && this.#view !== view ? 'more' : 'shown';
  }

  async #cardOf(planId: string): Promise<Card> {
    if (this.#card?.planId !== planId) {
      const [message] = await this.#context.sentParts(cardRef(planId));
      this.#card = { planId, message };
      this.#look = undefined;
    }
    return this.#card;
  }

  /** `lease`: the one under which the call was decided on. */
  async #call(card: Card, part: OutboundPart, lease: string | undefined): Promise<void> {
    const { clock } = this.#context;
    const startedMs = clock.monotonicMs();
    try {
      if (card.message !== undefined) {
        await this.#channel.edit?.(card.message, part);
        return;
      }
      card.message = await this.#channel.send(part);
      // The id is stored before any edit builds on it: after a crash this message is edited, not sent again.
      await this.#storeParts(cardRef(card.planId), [card.message]);
    } finally {
      this.#onCallEnded({ tookMs: clock.monotonicMs() - startedMs, lease });
    }
  }

  /** Only "too fast" is left to the scheduler. */
  #handleFailure(failure: unknown): void {
    const error = toGatewayError(failure);
    this.#look = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    if (code === 'rate_limited') throw error;
    if (code === 'outcome_unknown' && this.#card?.message === undefined)
      this.#context.counts.ambiguousSends += 1;
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_FAILURES;
    const { channel, chatId } = this.#place;
    this.#context.log.warn({ err: error, channel, chatId, turnId: this.#start.turnId }, 'plan_card_failed');
  }
}

/** The note; a thought about a failed step is marked, because the card has no other place for it. */
function noteOf({ note, analysedStepId }: PlanEventView, say: Say): string | undefined {
  if (note === undefined) return undefined;
  return analysedStepId === undefined ? say.text(note) : `⚡ ${say.text(note)}`;
}

/** Most cards of ended turns that are remembered; a forgotten one is edited again without a visible change. */
export const MAX_CARDS = 500;

/** Cards by turn. The card of a parked turn stays here and may still be edited. */
export class PlanCards {
  readonly #byTurn = new Map<string, PlanCard>();

  /** Keeps the card of a turn that has settled; it may still show its last state. */
  async keep(turnId: string, card: PlanCard): Promise<void> {
    const previous = this.#byTurn.get(turnId);
    this.#byTurn.delete(turnId);
    this.#byTurn.set(turnId, card);
    if (previous !== undefined && previous !== card) await previous.release();
    const oldest = this.#byTurn.entries().next().value;
    if (this.#byTurn.size <= MAX_CARDS || oldest === undefined) return;
    this.#byTurn.delete(oldest[0]);
    await oldest[1].release();
  }

  /** Removes the card of a turn that continues or is delivered, and returns its state. It makes no more calls. */
  async release(turnId: string): Promise<CardOnScreen | undefined> {
    const card = this.#byTurn.get(turnId);
    this.#byTurn.delete(turnId);
    return await card?.release();
  }
}

/** A turn's card before its last edit; `first` if it must be sent before the answer, because it is not on screen yet. */
interface LastCard {
  first: boolean;
  deliver(): Promise<void>;
}

/**
 * What is left to do for the card of an ended turn's plan; undefined if there is no plan or the card is right. Only a
 * stored plan has buttons by now. Throws `StoreError`.
 */
export async function lastCard(
  { context, payload, channel, partsOf }: Delivering,
  cards: PlanCards,
): Promise<LastCard | undefined> {
  const { message, planId } = payload;
  const { turnId } = message;
  if (channel.edit === undefined) return undefined;
  const plan =
    planId === undefined
      ? turnId && (await context.ledger.planOf(turnId))
      : (await context.plans.plan(planId))?.plan;
  const card = turnId === undefined ? undefined : await cards.release(turnId);
  if (plan === undefined || plan === '') return undefined;
  const ref = cardRef(plan.id);
  const onScreen = card?.ref === ref ? card : undefined;
  const say = context.say({ ...message, language: plan.language ?? message.language });
  const body = renderPlan(plan, targetOf(channel), undefined, say);
  const messages = onScreen?.message === undefined ? await context.sentParts(ref) : [onScreen.message];
  const isNew = messages.length === 0;
  const buttons = plan.state === 'stored' || planId !== undefined ? planButtons(plan, say) : [];
  if (!isNew && onScreen?.look === lookOf(body, buttons)) return undefined;
  const parts = partsOf({ ref, messages, message: { ...message, replyTo: undefined, buttons } });
  return {
    first: isNew,
    async deliver() {
      try {
        await (isNew || buttons.length > 0 ? parts.put(0, body, true) : parts.replace(0, body));
      } catch (error) {
        // The answer is more important: only an error that would also delay the answer is thrown, to be retried.
        if (!(error instanceof ChannelError) || ['rate_limited', 'unavailable'].includes(error.code))
          throw error;
        context.log.warn({ err: error, turnId, ref }, 'plan_card_failed');
      }
    },
  };
}
