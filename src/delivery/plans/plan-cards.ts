/** Keeps the cards of ended turns until their final delivery, which shows the last state of the plan. */
import type { Channel } from '../../protocol/channel.ts';
import { ChannelError } from '../../protocol/errors.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import type { Log } from '../../protocol/log.ts';
import type { OutboundMessage, SentMessage } from '../../protocol/message.ts';
import type { Plan } from '../../protocol/agent/plan.ts';
import { cardRef } from '../../protocol/agent/plan-store.ts';
import type { PartDelivery } from '../final/part-delivery.ts';
import type { CardOnScreen, PlanCard } from './plan-card.ts';
import { lookOf, planButtons } from './plan-buttons.ts';
import { renderPlan } from './render-plan.ts';
import type { SayIn } from '../../protocol/texts/say.ts';

/**
 * Maximum number of cards of ended turns remembered; one that is dropped is edited again, which changes nothing on
 * screen.
 */
export const MAX_CARDS = 500;

/** Cards by turn. The card of a parked turn stays here and may still be edited. */
export class PlanCards {
  readonly #byTurn = new Map<string, PlanCard>();

  /** Keeps the card of a turn that has settled; it may still show its last state. */
  async keep(turnId: string, card: PlanCard): Promise<void> {
    const before = this.#byTurn.get(turnId);
    this.#byTurn.delete(turnId);
    this.#byTurn.set(turnId, card);
    if (before !== undefined && before !== card) await before.release();
    const oldest = this.#byTurn.entries().next().value;
    if (this.#byTurn.size <= MAX_CARDS || oldest === undefined) return;
    this.#byTurn.delete(oldest[0]);
    await oldest[1].release();
  }

  /**
   * Removes and ends the card of a turn that continues or is being delivered; returns its state. The card makes no
   * further call.
   */
  async release(turnId: string): Promise<CardOnScreen | undefined> {
    const card = this.#byTurn.get(turnId);
    this.#byTurn.delete(turnId);
    return await card?.release();
  }
}

export interface LastCardDeps {
  /** The turn's plan as stored. Throws `StoreError`. */
  planOf: (turnId: string) => Promise<Plan | undefined>;
  /** The plan with that id. Throws `StoreError`. */
  plan: (id: string) => Promise<Plan | undefined>;
  sentParts: (ref: string) => Promise<SentMessage[]>;
  cards: PlanCards;
  say: SayIn;
  log: Log;
}

/** Creates the delivery of the parts of `ref`; `about` = the message whose place and buttons they have. */
export type PartsOf = (
  ref: string,
  known: SentMessage[],
  more?: {
    shown?: readonly (string | undefined)[];
    about?: OutboundMessage;
    after?: SentMessage | undefined;
  },
) => PartDelivery;

/** A turn's card before its last edit; `first` if it must be sent before the answer, because it is not on screen yet. */
export interface LastCard {
  first: boolean;
  deliver(): Promise<void>;
}

/**
 * Finds what is left to do for the card of an answer's turn, from the stored plan: undefined if there is no plan or
 * its card is already right. Its turn is over, so only a stored plan has buttons. Throws `StoreError`.
 */
export async function lastCard(
  deps: LastCardDeps,
  { message, planId }: Pick<DeliveryPayload, 'message' | 'planId'>,
  channel: Channel,
  partsOf: PartsOf,
): Promise<LastCard | undefined> {
  const { turnId } = message;
  if (channel.edit === undefined) return undefined;
  const plan = planId === undefined ? turnId && (await deps.planOf(turnId)) : await deps.plan(planId);
  const seen = turnId === undefined ? undefined : await deps.cards.release(turnId);
  if (plan === undefined || plan === '') return undefined;
  const ref = cardRef(plan.id);
  const own = seen?.ref === ref ? seen : undefined;
  const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
  const say = deps.say({ ...message, language: plan.language ?? message.language });
  const body = renderPlan(plan, target, undefined, say);
  const known = own?.sent === undefined ? await deps.sentParts(ref) : [own.sent];
  const [sent] = known;
  const buttons = plan.state === 'stored' || planId !== undefined ? planButtons(plan, say) : [];
  if (sent !== undefined && own?.look === lookOf(body, buttons)) return undefined;
  const parts = partsOf(ref, known, { about: { ...message, replyTo: undefined, buttons } });
  return {
    first: sent === undefined,
    async deliver() {
      try {
        const isNew = sent === undefined || buttons.length > 0;
        await (isNew ? parts.put(0, body, true) : parts.replace(0, body));
      } catch (error) {
        // The answer is more important: only an error that would also delay the answer is thrown, to be
        // retried.
        const passes = error instanceof ChannelError && !['rate_limited', 'unavailable'].includes(error.code);
        if (!passes) throw error;
        deps.log.warn({ err: error, turnId: message.turnId, ref }, 'plan_card_failed');
      }
    },
  };
}
