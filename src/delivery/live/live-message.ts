/** A reply that grows in place: shows one turn's events in one chat. */
import type { Channel, OutboundPart } from '../../protocol/channel.ts';
import { type DraftRules, type LiveTurnStart, stopButton } from '../../protocol/delivery.ts';
import { ChannelError, isClosedChat, toGatewayError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { parseAddress, type Place, type SentMessage } from '../../protocol/message.ts';
import { turnOfRef } from '../../protocol/sessions/surfaces.ts';
import type { Say } from '../../protocol/texts/say.ts';
import type { Clock } from '../../lib/clock.ts';
import type { DeliveryContext } from '../context.ts';
import { nonceOf, type NoteParts } from '../final/part-notes.ts';
import type { LiveEdit, Scheduler } from '../rate/scheduler.ts';
import { yieldToEventLoop } from '../text/chunker.ts';
import { targetOf } from '../text/cut.ts';
import { type CallListeners, LiveCalls } from './calls.ts';
import { draftLook, Drafts } from './drafts.ts';
import { LiveText } from './live-text.ts';

/** How long `settle` waits at most for a call in flight, in milliseconds. */
export const SETTLE_MS = 10_000;

/** After this many failed calls in a row the reply stops growing; the final delivery shows all of it. */
export const MAX_LIVE_FAILURES = 3;

/**
 * The length up to which a message is recorded to show text, in UTF-16 units: edits within it need no new note, and
 * after a crash the next process edits only once its own text is longer.
 */
export function notedLength(length: number): number {
  return Math.ceil(length * 1.25) + 20;
}

export class LiveMessage implements LiveEdit {
  readonly #context: DeliveryContext;
  readonly #start: LiveTurnStart;
  readonly #channel: Channel;
  readonly #scheduler: Scheduler;
  readonly #storeParts: NoteParts;
  readonly #listeners: CallListeners;
  readonly #place: Place;
  readonly #say: Say;
  readonly #text: LiveText;
  readonly #typing: ReturnType<typeof startTyping>;
  readonly #messages: SentMessage[];
  /** Text that each message shows, as far as this process knows. */
  readonly #texts: (string | undefined)[] = [];
  /** Messages that may have the button Stop. */
  readonly #stoppable = new Set<number>();
  /** Longest text that the previous process may have shown in each message; readers must not see it shrink. */
  readonly #previousLengths: number[];
  /** Monotonic time of the last change on screen by this process. */
  #shownAt: number | undefined;
  #plain = false;
  /** Set once earlier answers to the chat are on screen: a message sent sooner would appear above them. */
  #begun: boolean;
  /** True from a request for an edit until the edit is made: a token then has nothing to request. */
  #editRequested = false;
  /** Settled in time: no call can change the screen any more. */
  #certain = false;
  #failures = 0;
  readonly calls: LiveCalls;
  #drafts: Drafts | undefined;
  /** Set if the reply cannot or need not grow any further. */
  #frozen = false;
  #inFlight: Promise<unknown> = Promise.resolve();
  #cancelWake: (() => void) | undefined;
  /** Ends the wait for enough text for a first message. */
  #cancelFirst: (() => void) | undefined;

  /** `storeParts` stores the ids of its messages (T5). Throws `StoreError`; `FencedError` if nothing more may be shown. */
  constructor(
    context: DeliveryContext,
    start: LiveTurnStart,
    channel: Channel,
    storeParts: NoteParts,
    listeners: CallListeners,
  ) {
    const { clock } = context;
    this.#context = context;
    this.#start = start;
    this.#channel = channel;
    this.#scheduler = context.schedulerOf(channel);
    this.#storeParts = storeParts;
    this.#listeners = listeners;
    this.#place = parseAddress(start.address);
    this.calls = new LiveCalls(() => clock.epochMs());
    this.#say = context.say({ ...this.#place, language: start.language });
    this.#messages = [...start.placeholders];
    this.#previousLengths = start.placeholders.map(({ shows = 0 }) => (start.takenOver === true ? shows : 0));
    this.#begun = start.placeholders.length > 0;
    this.#frozen = channel.edit === undefined;
    this.#text = new LiveText(targetOf(channel), start.textSoFar, this.#say);
    this.#typing = startTyping(channel, this.#place, clock, this.#scheduler, listeners.onBlocked);
  }

  /**
   * Applies an event, or the passing of time; requests a call when there is something to show, the first one when the
   * text is worth a notification. A token costs an append; everything else waits for the next call.
   */
  apply(event?: AgentEvent): void {
    if (this.#frozen) return;
    const nowMs = this.#context.clock.monotonicMs();
    if (event?.type === 'message_sent') this.#drafts?.replaced();
    if (event !== undefined && !this.#text.apply(event, nowMs)) return;
    this.#wakeForChange(nowMs);
    if (this.#editRequested) return;
    this.#drafts?.request();
    if (!this.#begun || (this.#shownAt === undefined && this.#waitsForText(nowMs))) return;
    this.#editRequested = true;
    this.#scheduler.requestEdit({ place: this.#place, first: this.#messages[0] }, this);
  }

  get shownAt(): number | undefined {
    return this.#shownAt;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Shows what the model thinks, until it writes. */
  showThinking(): void {
    this.#text.showThinking();
  }

  begin(): void {
    this.#begun = true;
    this.apply();
  }

  /** Shows the text as drafts instead, which leave nothing behind; if the platform accepts none, in a growing message after all. */
  beginDrafts(rules: DraftRules, noteRefused: () => void): void {
    if (this.#frozen) return;
    const { clock, log } = this.#context;
    this.#drafts = new Drafts({
      channel: this.#channel,
      rules,
      scheduler: this.#scheduler,
      clock,
      log,
      turnId: this.#start.turnId,
      place: this.#place,
      look: draftLook(this.#text, this.#channel, this.#place, clock),
      calls: this.calls,
      onBlocked: this.#listeners.onBlocked,
      onRefused: () => {
        noteRefused();
        this.#drafts = undefined;
        this.begin();
      },
    });
    void this.#typing.end();
  }

  async show(): ReturnType<LiveEdit['show']> {
    const { clock, bus } = this.#context;
    const { turnId, replyTo } = this.#start;
    const lease = bus.lease();
    this.#editRequested = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inFlight = promise;
    try {
      if (this.#frozen) return 'nothing';
      // Text that arrives together is shown together: a short answer is then a single call.
      if (this.#shownAt === undefined) await yieldToEventLoop();
      const next = await this.#text.nextOutdated(this.#texts, this.#messages.length, clock.monotonicMs());
      if (next === undefined || this.#frozen) return 'nothing';
      const { index, chunk, more } = next;
      const message = this.#messages[index];
      if (!more && chunk.text.length < (this.#previousLengths[index] ?? 0)) return 'nothing';
      // An earlier message loses its button with its last text.
      const hasStop = this.#channel.capabilities.answerButtons === true && !more;
      if (hasStop) this.#stoppable.add(index);
      else this.#stoppable.delete(index);
      const part: OutboundPart = {
        ...this.#place,
        body: chunk,
        plain: this.#plain,
        replyTo: index === 0 ? replyTo : undefined,
        after: this.#messages[index - 1],
        buttons: hasStop ? [stopButton(turnOfRef(turnId), this.#say)] : [],
        nonce: nonceOf(turnId, index),
      };
      const startedMs = clock.monotonicMs();
      try {
        if (message !== undefined && chunk.text.length > (message.shows ?? 0))
          await this.#note(index, message, chunk.text);
        const updated =
          message === undefined ? await this.#channel.send(part) : await this.#channel.edit?.(message, part);
        this.calls.shown(message === undefined ? 'sent' : 'edited');
        this.#texts[index] = chunk.text;
        this.#previousLengths[index] = 0;
        this.#shownAt = clock.monotonicMs();
        // The id is stored before any edit builds on it: after a crash the reply continues in this message.
        if (updated !== undefined && updated !== message) await this.#note(index, updated, chunk.text);
        this.#failures = 0;
        this.#typing.noteShown();
        return more && !this.#frozen ? 'more' : 'shown';
      } catch (error) {
        this.#handleFailure(error, index);
        return this.#frozen ? 'shown' : 'more';
      } finally {
        this.#listeners.onCallEnded({ tookMs: clock.monotonicMs() - startedMs, lease });
      }
    } finally {
      resolve();
    }
  }

  /** Stores the longest text that the message may show before the next note (T5). */
  async #note(index: number, message: SentMessage, text: string): Promise<void> {
    this.#messages[index] = { ...message, shows: notedLength(text.length) };
    await this.#storeParts(this.#start.turnId, [...this.#messages]);
  }

  /** Ends it: no more text is shown. Never throws; waits at most `SETTLE_MS` for the call in flight. */
  async settle(): Promise<void> {
    this.#frozen = true;
    this.#scheduler.cancelEdit(this);
    this.#cancelWake?.();
    this.#cancelFirst?.();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#context.clock.after(SETTLE_MS, resolve);
    const over = Promise.all([this.#inFlight, this.#drafts?.end(), this.#typing.end()]).then(
      () => (this.#certain = true),
    );
    await Promise.race([over, late]);
    cancel();
  }

  /** The text of each message without a button, where it is certain: the final delivery leaves it if it is right. */
  get shown(): readonly (string | undefined)[] {
    const isCertain = this.#certain && this.#start.takenOver !== true;
    return isCertain ? this.#texts.map((text, index) => (this.#stoppable.has(index) ? undefined : text)) : [];
  }

  /** True while the text is not worth a notification; looks again when it will be. */
  #waitsForText(nowMs: number): boolean {
    const at = this.#text.firstMessageAt(nowMs);
    if (at === undefined) return true;
    if (at <= nowMs) return false;
    this.#cancelFirst ??= this.#context.clock.after(at - nowMs, () => {
      this.#cancelFirst = undefined;
      this.apply();
    });
    return true;
  }

  /** Requests an edit for the time at which the text looks different although there will be no event then. */
  #wakeForChange(nowMs: number): void {
    const { clock } = this.#context;
    const at = this.#cancelWake === undefined ? this.#text.changesAt(nowMs) : undefined;
    if (at === undefined) return;
    this.#cancelWake = clock.after(at - nowMs, () => {
      this.#cancelWake = undefined;
      this.apply();
    });
  }

  /** Decides whether the reply continues to grow. Only "too fast" is left to the scheduler. */
  #handleFailure(failure: unknown, index: number): void {
    const error = toGatewayError(failure);
    this.#texts[index] = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    this.calls.failed(error);
    if (code === 'rate_limited') throw error;
    if (code === 'bad_markup' && !this.#plain) {
      this.#plain = true;
      return;
    }
    if (code === 'outcome_unknown' && index >= this.#messages.length)
      this.#context.counts.ambiguousSends += 1;
    if (isClosedChat(error)) this.#listeners.onBlocked();
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_LIVE_FAILURES;
    const { channel, chatId } = this.#place;
    const { turnId } = this.#start;
    this.#context.log.warn({ err: error, channel, chatId, turnId, frozen: this.#frozen }, 'live_edit_failed');
  }
}

/** How long one turn may show typing, in milliseconds. */
export const TYPING_TTL_MS = 600_000;

/** Typing is renewed after this fraction of the time that one call lasts. */
const REFRESH = 0.8;

/** Shows typing until `end` or the limit; `onBlocked` is called when no one can read the reply. */
function startTyping(
  channel: Channel,
  place: Place,
  clock: Clock,
  scheduler: Scheduler,
  onBlocked: () => void,
) {
  const { typing, typingMs } = channel.capabilities;
  const everyMs = typingMs * REFRESH;
  const until = clock.monotonicMs() + TYPING_TTL_MS;
  let hasEnded = !typing || typingMs <= 0;
  let cancel: (() => void) | undefined;
  let inFlight: Promise<void> = Promise.resolve();
  /** Monotonic time at which the screen last changed: a growing text needs no "typing…". */
  let shownAt = Number.NEGATIVE_INFINITY;
  const call = async (): Promise<void> => {
    const works = await scheduler.tryOptional({ place }, async () => {
      try {
        await channel.typing?.(place);
      } catch (error) {
        if (isClosedChat(error)) onBlocked();
        throw error;
      }
    });
    hasEnded ||= !works;
  };
  const tick = (): void => {
    const now = clock.monotonicMs();
    if (hasEnded || now >= until) return;
    if (now - shownAt >= everyMs) inFlight = call();
    cancel = clock.after(everyMs, tick);
  };
  tick();
  return {
    /** Records that the reply has just grown on screen. */
    noteShown: () => void (shownAt = clock.monotonicMs()),
    /** Makes no further call; resolves when the one in flight has ended. Never throws. */
    async end(): Promise<void> {
      hasEnded = true;
      cancel?.();
      await inFlight;
    },
  };
}
