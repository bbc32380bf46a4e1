/** Reactions to questions: waiting, in progress, answered or failed. They use only the capacity that texts leave free. */
import type { Channel, QuestionState } from '../protocol/channel.ts';
import { ChannelError, toGatewayError } from '../protocol/errors.ts';
import type { TurnEndReason } from '../protocol/event.ts';
import type { AskedQuestion } from '../protocol/delivery.ts';
import type { Log } from '../protocol/log.ts';
import type { Clock } from '../lib/clock.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import type { Scheduler } from './rate/scheduler.ts';

/** Maximum number of questions whose reaction is not shown yet; further ones get none. */
export const MAX_PENDING = 1_000;
/** Wait before retrying a reaction that found no free call, in milliseconds, and the number of tries. */
export const RETRY_MS = 1_500;
export const MAX_TRIES = 20;
/** A chat that does not allow the reaction gets none for this long, in milliseconds. */
export const REFUSED_MS = 3_600_000;

interface Reaction {
  question: AskedQuestion;
  state: QuestionState;
  shownState?: QuestionState;
  tries: number;
  busy: boolean;
  cancel?: () => void;
}

export class Reactions {
  readonly #channels: ReadonlyMap<string, Channel>;
  readonly #schedulerOf: (channel: Channel) => Scheduler;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pending = new Map<string, Reaction>();
  readonly #refusals: TtlCache<true>;

  constructor(
    channels: ReadonlyMap<string, Channel>,
    schedulerOf: (channel: Channel) => Scheduler,
    clock: Clock,
    log: Log,
  ) {
    this.#channels = channels;
    this.#schedulerOf = schedulerOf;
    this.#clock = clock;
    this.#log = log;
    this.#refusals = new TtlCache<true>(REFUSED_MS, MAX_PENDING, () => clock.monotonicMs());
  }

  /** Shows a state, in place of the previous one, if the channel supports it. Never throws. */
  show(question: AskedQuestion, state: QuestionState): void {
    const channel = this.#channels.get(question.channel);
    if (channel?.react === undefined || !channel.capabilities.reactions.includes(question.place)) return;
    const chat = `${question.channel}:${question.chatId}`;
    const key = `${chat}:${question.messageId}`;
    if (this.#refusals.get(chat) !== undefined) return;
    const reaction = this.#pending.get(key) ?? { question, state, tries: 0, busy: false };
    if (!this.#pending.has(key) && this.#pending.size >= MAX_PENDING) return;
    Object.assign(reaction, { state, tries: 0 });
    this.#pending.set(key, reaction);
    void this.#try(key, channel, reaction);
  }

  get waiting(): number {
    return this.#pending.size;
  }

  close(): void {
    for (const { cancel } of this.#pending.values()) cancel?.();
    this.#pending.clear();
  }

  async #try(key: string, channel: Channel, reaction: Reaction): Promise<void> {
    if (reaction.busy) return;
    reaction.busy = true;
    reaction.cancel?.();
    const { question, state } = reaction;
    reaction.tries += 1;
    let isShown = false;
    const target = { place: question, isReaction: true } as const;
    const goesOn = await this.#schedulerOf(channel).tryOptional(target, async () => {
      try {
        await channel.react?.(question, state);
        isShown = true;
      } catch (error) {
        this.#note(question, error);
        throw error;
      }
    });
    reaction.busy = false;
    if (isShown) reaction.shownState = state;
    if (!this.#pending.has(key)) return;
    if (!goesOn || reaction.shownState === reaction.state || reaction.tries >= MAX_TRIES)
      this.#pending.delete(key);
    else reaction.cancel = this.#clock.after(RETRY_MS, () => void this.#try(key, channel, reaction));
  }

  #note({ channel, chatId }: AskedQuestion, failure: unknown): void {
    const error = toGatewayError(failure);
    if (error instanceof ChannelError && error.code === 'rejected')
      this.#refusals.set(`${channel}:${chatId}`, true);
    this.#log.debug({ err: error, channel, chatId }, 'reaction_not_shown');
  }
}

/** The state of a question whose turn has ended for this reason; nothing is shown for one that a person stopped. */
export function stateAfter(reason: TurnEndReason): QuestionState {
  if (reason === 'failed') return 'failed';
  return reason === 'stopped' || reason === 'interrupted' ? 'none' : 'done';
}
