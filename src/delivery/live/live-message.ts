/** A reply that grows in place: shows one turn's events in one chat. */
import type { Channel, OutboundPart } from '../../protocol/channel.ts';
import { ChannelError, isClosedChat, toGatewayError } from '../../protocol/errors.ts';
import { type DraftRules, type LiveTurnStart, stopButton } from '../../protocol/delivery.ts';
import { turnOfRef } from '../../protocol/sessions/surfaces.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import type { Log } from '../../protocol/log.ts';
import { LiveCalls } from './live-calls.ts';
import { parseAddress, type Place, type SentMessage } from '../../protocol/message.ts';
import type { Clock } from '../../lib/clock.ts';
import { draftLook } from '../stream/draft-look.ts';
import { Drafts } from '../stream/drafts.ts';
import type { EndedCall } from './late-calls.ts';
import { LiveText, type OutdatedChunk } from './live-text.ts';
import { nonceOf } from '../nonce.ts';
import type { LiveEdit } from '../rate/place-queue.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import { Typing } from './typing.ts';
import type { Recipient, SayIn } from '../../protocol/texts/say.ts';

/** How long `settle` waits at most for a call in flight, in milliseconds. */
export const SETTLE_MS = 10_000;

/** After this many failed calls in a row the reply stops growing; the final delivery shows all of it. */
export const MAX_LIVE_FAILURES = 3;

/**
 * The longest text, in UTF-16 units, that a message is recorded to show when it shows this much: an edit within this
 * length needs no new note, and a process that continues in the message after a crash waits until its own text is
 * longer than what may be on screen.
 */
export function notedLength(shown: number): number {
  return Math.ceil(shown * 1.25) + 20;
}

export interface LiveMessageDeps {
  say: SayIn;
  channel: Channel;
  scheduler: Scheduler;
  clock: Clock;
  log: Log;
  /** Lets other work run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  /** T5. Throws `StoreError`; `FencedError` if nothing more may be shown. */
  note: (ref: string, sent: SentMessage[]) => Promise<void>;
  /** Called for a send that may or may not be on screen. */
  onAmbiguousSend: () => void;
  /** This node's lease. */
  lease: () => string | undefined;
  /** Called when a call has ended: a late one may have arrived after another node's final text. */
  onCallEnded: (call: EndedCall) => void;
  /** Called, possibly more than once, when no one can read the reply. */
  onBlocked: () => void;
}

export class LiveMessage implements LiveEdit {
  readonly #deps: LiveMessageDeps;
  readonly #start: LiveTurnStart;
  readonly #place: Place;
  readonly #reader: Recipient;
  readonly #text: LiveText;
  readonly #typing: Typing;
  readonly #sent: SentMessage[];
  /** Text that each message shows, as far as this process knows. */
  readonly #shown: (string | undefined)[] = [];
  /** Messages that may have the button Stop. */
  readonly #stoppable = new Set<number>();
  /** Longest text that the previous process may have shown in each message; readers must not see it shrink. */
  readonly #before: number[];
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
  /** Calls to the platform. */
  readonly calls: LiveCalls;
  /** Set if the reply is shown as drafts. */
  #drafts: Drafts | undefined;
  /** Set if the reply cannot or need not grow any further. */
  #frozen = false;
  #inFlight: Promise<unknown> = Promise.resolve();
  #cancelWake: (() => void) | undefined;
  /** Ends the wait for enough text for a first message. */
  #cancelFirst: (() => void) | undefined;

  constructor(start: LiveTurnStart, deps: LiveMessageDeps) {
    const { channel } = deps;
    this.#deps = deps;
    this.#start = start;
    this.#place = parseAddress(start.address);
    this.calls = new LiveCalls(() => deps.clock.epochMs());
    this.#reader = { ...this.#place, language: start.language };
    this.#sent = [...start.placeholders];
    this.#before = start.placeholders.map(({ shows = 0 }) => (start.takenOver === true ? shows : 0));
    this.#begun = start.placeholders.length > 0;
    this.#frozen = channel.edit === undefined;
    const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
    this.#text = new LiveText(target, start.textSoFar, deps.say(this.#reader));
    this.#typing = new Typing(channel, this.#place, deps.clock, deps.scheduler, deps.onBlocked);
  }

  /**
   * Applies one event of the turn; without one, only time has passed. Requests a call when there is something to show;
   * the first one waits for a text worth a notification. A token costs an append; everything else waits for the chat's
   * next call.
   */
  apply(event?: AgentEvent): void {
    if (this.#frozen) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (event?.type === 'message_sent') this.#drafts?.replaced();
    const isToken = event?.type === 'stream_chunk' && event.isSubagent !== true;
    if (isToken && !this.#text.append(event.msgId, event.delta)) return;
    if (event !== undefined && !isToken && !this.#text.apply(event, nowMs)) return;
    this.#wakeForChange(nowMs);
    if (this.#editRequested) return;
    this.#drafts?.request();
    if (!this.#begun || (this.#shownAt === undefined && this.#waitsForText(nowMs))) return;
    this.#editRequested = true;
    this.#deps.scheduler.requestEdit({ place: this.#place, first: this.#sent[0] }, this);
  }

  get shownAt(): number | undefined {
    return this.#shownAt;
  }

  /** True if its first message is already on screen. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Lets its first message be sent. */
  begin(): void {
    this.#begun = true;
    this.apply();
  }

  /** Shows the text as drafts instead, which leave nothing behind; if the platform accepts none, in a growing message after all. */
  beginDrafts(rules: DraftRules, noteRefused: () => void): void {
    if (this.#frozen) return;
    const look = draftLook(this.#text, { ...this.#deps, place: this.#place });
    const about = { turnId: this.#start.turnId, place: this.#place, calls: this.calls, look, rules };
    const onRefused = (): void => {
      noteRefused();
      this.#drafts = undefined;
      this.begin();
    };
    this.#drafts = new Drafts({ ...this.#deps, ...about, onRefused });
    void this.#typing.end();
  }

  /** Updates the first outdated message. */
  async show(): ReturnType<LiveEdit['show']> {
    const { channel, clock, yieldToEventLoop } = this.#deps;
    const lease = this.#deps.lease();
    this.#editRequested = false;
    const over = Promise.withResolvers<void>();
    this.#inFlight = over.promise;
    try {
      if (this.#frozen) return 'nothing';
      // Text that arrives together is shown together: a short answer is then a single call.
      if (this.#shownAt === undefined) await yieldToEventLoop();
      const screen = { shown: this.#shown, count: this.#sent.length };
      const next = await this.#text.nextOutdated(screen, clock.monotonicMs(), yieldToEventLoop);
      if (next === undefined || this.#frozen) return 'nothing';
      const { index, chunk } = next;
      const known = this.#sent[index];
      if (!next.more && chunk.text.length < (this.#before[index] ?? 0)) return 'nothing';
      const startedMs = clock.monotonicMs();
      try {
        const part = this.#partOf(next);
        if (known !== undefined && chunk.text.length > (known.shows ?? 0))
          await this.#note(index, known, chunk.text);
        const sent = known === undefined ? await channel.send(part) : await channel.edit?.(known, part);
        this.calls.shown(known === undefined ? 'sent' : 'edited');
        this.#shown[index] = chunk.text;
        this.#before[index] = 0;
        this.#shownAt = clock.monotonicMs();
        // The id is stored before any edit builds on it: after a crash the reply continues in this message.
        if (sent !== undefined && sent !== known) await this.#note(index, sent, chunk.text);
        this.#failures = 0;
        this.#typing.noteShown();
        return next.more && !this.#frozen ? 'more' : 'shown';
      } catch (error) {
        this.#handleFailure(error, next);
        return this.#frozen ? 'shown' : 'more';
      } finally {
        this.#deps.onCallEnded({ tookMs: clock.monotonicMs() - startedMs, lease });
      }
    } finally {
      over.resolve();
    }
  }

  /** T5, with the longest text that may be on screen before the next note. */
  async #note(index: number, sent: SentMessage, text: string): Promise<void> {
    this.#sent[index] = { ...sent, shows: notedLength(text.length) };
    await this.#deps.note(this.#start.turnId, [...this.#sent]);
  }

  /** Ends it: no more text is shown. Never throws; waits at most `SETTLE_MS` for the call in flight. */
  async settle(): Promise<void> {
    this.#frozen = true;
    this.#deps.scheduler.cancelEdit(this);
    this.#cancelWake?.();
    this.#cancelFirst?.();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(SETTLE_MS, resolve);
    const over = Promise.all([this.#inFlight, this.#drafts?.end(), this.#typing.end()]).then(
      () => (this.#certain = true),
    );
    await Promise.race([over, late]);
    cancel();
  }

  /**
   * Text that each message shows alone, without a button, where that is certain: the final delivery does not touch
   * what is already right.
   */
  get shown(): readonly (string | undefined)[] {
    const isKnown = this.#certain && this.#start.takenOver !== true;
    return isKnown ? this.#shown.map((text, index) => (this.#stoppable.has(index) ? undefined : text)) : [];
  }

  /** True while the text is not worth a notification; looks again when it will be. */
  #waitsForText(nowMs: number): boolean {
    const at = this.#text.firstMessageAt(nowMs);
    if (at === undefined) return true;
    if (at <= nowMs) return false;
    this.#cancelFirst ??= this.#deps.clock.after(at - nowMs, () => {
      this.#cancelFirst = undefined;
      this.apply();
    });
    return true;
  }

  /** Requests an edit for the time at which the text looks different although there will be no event then. */
  #wakeForChange(nowMs: number): void {
    const { clock } = this.#deps;
    const at = this.#cancelWake === undefined ? this.#text.changesAt(nowMs) : undefined;
    if (at === undefined) return;
    this.#cancelWake = clock.after(at - nowMs, () => {
      this.#cancelWake = undefined;
      this.apply();
    });
  }

  #partOf({ index, chunk, more }: OutdatedChunk): OutboundPart {
    const { capabilities } = this.#deps.channel;
    // An earlier message loses its button with its last text.
    const stops = capabilities.answerButtons === true && !more;
    if (stops) this.#stoppable.add(index);
    else this.#stoppable.delete(index);
    return {
      ...this.#place,
      body: chunk,
      plain: this.#plain,
      replyTo: index === 0 ? this.#start.replyTo : undefined,
      after: this.#sent[index - 1],
      buttons: stops ? [stopButton(turnOfRef(this.#start.turnId), this.#deps.say(this.#reader))] : [],
      nonce: nonceOf(this.#start.turnId, index),
    };
  }

  /** Decides whether the reply continues to grow. Only "too fast" is left to the scheduler. */
  #handleFailure(thrown: unknown, { index }: OutdatedChunk): void {
    const error = toGatewayError(thrown);
    this.#shown[index] = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    this.calls.failed(error);
    if (code === 'rate_limited') throw error;
    if (code === 'bad_markup' && !this.#plain) {
      this.#plain = true;
      return;
    }
    if (code === 'outcome_unknown' && index >= this.#sent.length) this.#deps.onAmbiguousSend();
    if (isClosedChat(error)) this.#deps.onBlocked();
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_LIVE_FAILURES;
    const { channel, chatId } = this.#place;
    const { turnId } = this.#start;
    this.#deps.log.warn({ err: error, channel, chatId, turnId, frozen: this.#frozen }, 'live_edit_failed');
  }
}
