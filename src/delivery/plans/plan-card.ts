/** The card of a turn's plan: one message per plan, edited in place while the plan runs. */
import type { Channel, OutboundPart } from '../../protocol/channel.ts';
import { ChannelError, toGatewayError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import type { LiveTurnStart } from '../../protocol/delivery.ts';
import type { Log } from '../../protocol/log.ts';
import { parseAddress, type Place, type SentMessage } from '../../protocol/message.ts';
import { advancePlan, type PlanEventView } from '../../protocol/isomorphic/plan-reducer.js';
import { cardRef } from '../../protocol/agent/plan-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { EndedCall } from '../live/late-calls.ts';
import type { RenderTarget } from '../text/cut.ts';
import { nonceOf } from '../nonce.ts';
import { lookOf, planButtons } from './plan-buttons.ts';
import { renderPlan } from './render-plan.ts';
import type { LiveEdit } from '../rate/place-queue.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import type { Say, SayIn } from '../../protocol/texts/say.ts';

/** After this many failed calls in a row the card is left to the final delivery. */
const MAX_FAILURES = 3;

export interface PlanCardDeps {
  channel: Channel;
  scheduler: Scheduler;
  clock: Clock;
  say: SayIn;
  /** Platform ids known for a ref. Throws `StoreError`. */
  sentParts: (ref: string) => Promise<SentMessage[]>;
  /** T5. Throws `StoreError`; `FencedError` if nothing more may be shown. */
  note: (ref: string, sent: SentMessage[]) => Promise<void>;
  log: Log;
  /** Called for a send that may or may not be on screen. */
  onAmbiguousSend: () => void;
  /** This node's lease. */
  lease: () => string | undefined;
  /** Called after each call. */
  onCallEnded: (call: EndedCall) => void;
}

/** The message of one plan; `sent` is undefined until it is on screen. */
interface Card {
  planId: string;
  sent: SentMessage | undefined;
}

/** State of a card when its turn is over. */
export interface CardOnScreen {
  ref: string;
  /** As returned by `lookOf`. */
  look: string | undefined;
  sent: SentMessage | undefined;
}

/**
 * Follows one turn: shows the plan as its events change it, and the current activity (S-35, S-48). The turn's final
 * delivery makes the updates that it misses (a crash, a busy chat).
 */
export class PlanCard implements LiveEdit {
  readonly #deps: PlanCardDeps;
  readonly #start: LiveTurnStart;
  readonly #place: Place;
  readonly #target: RenderTarget;
  #view: PlanEventView | undefined;
  #card: Card | undefined;
  #shown: string | undefined;
  #shownAt: number | undefined;
  #begun = false;
  #frozen: boolean;
  #failures = 0;
  #inFlight: Promise<unknown> = Promise.resolve();

  constructor(start: LiveTurnStart, deps: PlanCardDeps) {
    const { channel } = deps;
    this.#start = start;
    this.#deps = deps;
    this.#place = parseAddress(start.address);
    this.#target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
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
    const showing = this.#put();
    // The scheduler handles the failure; `release` only needs to know that the call is over.
    this.#inFlight = showing.catch(() => undefined);
    return await showing;
  }

  /** True if there is a plan to show. */
  get hasPlan(): boolean {
    return this.#view !== undefined;
  }

  /** Makes no further call; resolves when the one in flight is over, with what is certain to be on screen. Never throws. */
  async release(): Promise<CardOnScreen> {
    this.#frozen = true;
    this.#deps.scheduler.cancelEdit(this);
    await this.#inFlight;
    return { ref: cardRef(this.#view?.plan.id ?? ''), look: this.#shown, sent: this.#card?.sent };
  }

  #requestEdit(): void {
    if (this.#begun && this.#view !== undefined && !this.#frozen)
      this.#deps.scheduler.requestEdit({ place: this.#place }, this);
  }

  async #put(): ReturnType<LiveEdit['show']> {
    const view = this.#view;
    const lease = this.#deps.lease();
    if (view === undefined || this.#frozen) return 'nothing';
    try {
      const card = await this.#cardOf(view.plan.id);
      const say = this.#deps.say({ ...this.#place, language: view.plan.language ?? this.#start.language });
      const body = renderPlan(view.plan, this.#target, noteOf(view, say), say);
      const buttons = planButtons(view.plan, say);
      const look = lookOf(body, buttons);
      if (this.#frozen || (card.sent !== undefined && this.#shown === look)) return 'nothing';
      const part = { ...this.#place, body, buttons, nonce: nonceOf(cardRef(card.planId), 0) };
      await this.#call(card, part, lease);
      this.#shown = look;
      this.#shownAt = this.#deps.clock.monotonicMs();
      this.#failures = 0;
    } catch (error) {
      this.#handleFailure(error);
    }
    return !this.#frozen && this.#view !== view ? 'more' : 'shown';
  }

  async #cardOf(planId: string): Promise<Card> {
    if (this.#card?.planId !== planId) {
      const [sent] = await this.#deps.sentParts(cardRef(planId));
      this.#card = { planId, sent };
      this.#shown = undefined;
    }
    return this.#card;
  }

  /** `lease`: the one under which the call was decided on. */
  async #call(card: Card, part: OutboundPart, lease: string | undefined): Promise<void> {
    const { channel, clock, note, onCallEnded } = this.#deps;
    const startedMs = clock.monotonicMs();
    try {
      if (card.sent !== undefined) {
        await channel.edit?.(card.sent, part);
        return;
      }
      card.sent = await channel.send(part);
      // The id is stored before any edit builds on it: after a crash this message is edited, not sent again.
      await note(cardRef(card.planId), [card.sent]);
    } finally {
      onCallEnded({ tookMs: clock.monotonicMs() - startedMs, lease });
    }
  }

  /** Only "too fast" is left to the scheduler. */
  #handleFailure(thrown: unknown): void {
    const error = toGatewayError(thrown);
    this.#shown = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    if (code === 'rate_limited') throw error;
    if (code === 'outcome_unknown' && this.#card?.sent === undefined) this.#deps.onAmbiguousSend();
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_FAILURES;
    const { channel, chatId } = this.#place;
    this.#deps.log.warn({ err: error, channel, chatId, turnId: this.#start.turnId }, 'plan_card_failed');
  }
}

/** The note; a thought about a failed step is marked, because the card has no other place for it. */
function noteOf({ note, analysedStepId }: PlanEventView, say: Say): string | undefined {
  if (note === undefined) return undefined;
  return analysedStepId === undefined ? say.text(note) : `⚡ ${say.text(note)}`;
}
