/** Delivery: shows a turn's text in the channels, growing while the turn runs and exact once it has ended. */
import type { LaneHandler } from '../protocol/bus.ts';
import type { AskedQuestion, LiveMessages, LiveTurn, LiveTurnStart } from '../protocol/delivery.ts';
import { systemClock } from '../lib/clock.ts';
import type { DeliveryContext, DeliveryDeps } from './context.ts';
import { createOldButtons } from './final/old-buttons.ts';
import { createOut } from './final/out.ts';
import { PartNotes } from './final/part-notes.ts';
import { AgentCards } from './live/agent-card.ts';
import { openReply, ShownTexts } from './live/reply.ts';
import { OpenSurfaces } from './live/surfaces.ts';
import { PlanCards } from './plan-card.ts';
import { createSchedulers } from './rate/scheduler.ts';
import { Reactions } from './reactions.ts';

export { createAnswerFiles } from './final/answer-files.ts';
export { createPost } from './final/out.ts';
export { createRichCommand, createStreamCommand, createStreamModes } from './live/stream-mode.ts';
export { createPush } from './push/push.ts';
export { configureWebhooks, createWebhooks, webhooksRule, type Webhook } from './webhooks.ts';

/** Totals since startup, for the metrics. */
export interface DeliveryCounts {
  /** Calls to the platform of each channel, and those answered "too fast". */
  platforms: ReadonlyMap<string, { readonly calls: number; readonly refused: number }>;
  /** Sends whose answer was lost: they may be visible twice. */
  ambiguousSends: number;
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
  const { channels, log, ledger, bus, clock = systemClock, random = Math.random } = deps;
  const schedulers = createSchedulers(clock, () => bus.lease() !== undefined);
  const schedulerOf = schedulers.of;
  const notes = new PartNotes(ledger, bus, clock, log);
  const sentParts = async (ref: string) => notes.latest(ref, await ledger.sentParts(ref));
  const counts = { ambiguousSends: 0, dead: 0 };
  const context: DeliveryContext = { ...deps, clock, random, schedulerOf, notes, sentParts, counts };
  const shownTexts = new ShownTexts();
  const cards = new PlanCards();
  const agentCards = new AgentCards(context);
  const reactions = new Reactions(channels, schedulerOf, clock, log);
  const oldButtons = createOldButtons(schedulerOf, ledger, clock, log);
  const surfaces = new OpenSurfaces(context, shownTexts);
  const open = (start: LiveTurnStart): LiveTurn => {
    const reply = openReply(context, { reactions, cards, shownTexts }, start);
    const others = surfaces.open(start);
    return {
      settle() {
        others.settle();
        return reply.settle();
      },
      shownOn: others.shownOn,
    };
  };
  return {
    live: {
      open,
      announceAgent: (card) => agentCards.announce(card),
      followAgent: (session, card) => agentCards.follow(session, card),
      endAgent: (card, end, key) => agentCards.end(card, end, key),
    },
    out: createOut(context, { surfaces, shownTexts, cards, oldButtons }),
    counts: () => ({ ...counts, platforms: schedulers.counts() }),
    noteWaiting: (question) => reactions.show(question, 'waiting'),
    close() {
      for (const part of [reactions, oldButtons, schedulers, notes]) part.close();
    },
  };
}
