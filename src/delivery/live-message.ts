/** A reply that grows in place: shows one turn's events in one chat. */
import type { Channel, OutboundPart } from '../contracts/channel.ts';
import { ChannelError, toGatewayError } from '../contracts/errors.ts';
import type { AgentEvent } from '../contracts/event.ts';
import type { LiveTurn, LiveTurnStart } from '../contracts/delivery.ts';
import type { Log } from '../contracts/log.ts';
import { parseAddress } from '../contracts/message.ts';
import type { Place, SentMessage } from '../contracts/message.ts';
import type { Clock } from '../lib/clock.ts';
import { LiveText } from './live-text.ts';
import type { OutdatedChunk } from './live-text.ts';
import { nonceOf } from './nonce.ts';
import type { LiveEdit, Scheduler } from './scheduler.ts';
import { Typing } from './typing.ts';

/** Longest wait of `settle` for a call in flight, in milliseconds. */
export const SETTLE_MS = 10_000;

/** After this many failed calls in a row the reply stops growing; the final delivery shows all of it. */
export const MAX_LIVE_FAILURES = 3;

export interface LiveMessageDeps {
  channel: Channel;
  scheduler: Scheduler;
  clock: Clock;
  log: Log;
  /** Lets others run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  /** Called for a send that may or may not be on screen. */
  onAmbiguousSend: () => void;
}

export class LiveMessage implements LiveTurn, LiveEdit {
  readonly #deps: LiveMessageDeps;
  readonly #start: LiveTurnStart;
  readonly #place: Place;
  readonly #text: LiveText;
  readonly #typing: Typing;
  readonly #sent: SentMessage[];
  /** Text that each message shows, as far as this process knows. */
  readonly #shown: (string | undefined)[] = [];
  #plain = false;
  /** Set once earlier answers to the chat are on screen: a message sent before would appear above them. */
  #begun: boolean;
  /** True from a request for an edit until it is made: a token then has nothing to ask for. */
  #editRequested = false;
  /** Settled in time: no call can change the screen any more. */
  #certain = false;
  #failures = 0;
  /** Set when the reply cannot or need not grow any further. */
  #frozen = false;
  #inFlight: Promise<unknown> = Promise.resolve();
  #cancelWake: (() => void) | undefined;

  constructor(start: LiveTurnStart, deps: LiveMessageDeps) {
    const { channel } = deps;
    this.#deps = deps;
    this.#start = start;
    this.#place = parseAddress(start.address);
    this.#sent = [...start.placeholders];
    this.#begun = start.placeholders.length > 0;
    this.#frozen = channel.edit === undefined;
    const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
    this.#text = new LiveText(target, start.textSoFar);
    this.#typing = new Typing(channel, this.#place, deps.clock, deps.scheduler);
  }

  /** Applies one event of the turn. A token costs an append; everything else waits for the chat's next call. */
  apply(event: AgentEvent): void {
    if (this.#frozen) return;
    if (event.type === 'stream_chunk' && event.isSubagent !== true) {
      if (!this.#text.append(event.msgId, event.delta)) return;
    } else {
      const nowMs = this.#deps.clock.monotonicMs();
      if (!this.#text.apply(event, nowMs)) return;
      this.#wakeForActivity(nowMs);
    }
    if (!this.#begun || this.#editRequested) return;
    this.#editRequested = true;
    this.#deps.scheduler.requestEdit(this.#place.chatId, this);
  }

  /** True when its first message is on screen already. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Lets its first message be sent. */
  begin(): void {
    this.#begun = true;
    if (!this.#frozen) this.#deps.scheduler.requestEdit(this.#place.chatId, this);
  }

  /** Brings the first outdated message up to date; true when there is more to show. */
  async show(): Promise<boolean> {
    const { channel, clock, yieldToEventLoop } = this.#deps;
    this.#editRequested = false;
    const over = Promise.withResolvers<void>();
    this.#inFlight = over.promise;
    try {
      if (this.#frozen) return false;
      const screen = { shown: this.#shown, count: this.#sent.length };
      const next = await this.#text.nextOutdated(screen, clock.monotonicMs(), yieldToEventLoop);
      if (next === undefined || this.#frozen) return false;
      const { index, chunk } = next;
      const known = this.#sent[index];
      try {
        if (known === undefined) this.#sent.push(await channel.send(this.#partOf(next)));
        else await channel.edit?.(known, this.#partOf(next));
        this.#shown[index] = chunk.text;
        // The id is stored before any edit builds on it: after a crash the reply goes on in this message.
        if (known === undefined) await this.#start.note([...this.#sent]);
        this.#failures = 0;
        this.#typing.noteShown();
        return next.more && !this.#frozen;
      } catch (error) {
        this.#handleFailure(error, next);
        return !this.#frozen;
      }
    } finally {
      over.resolve();
    }
  }

  async settle(): Promise<void> {
    this.#frozen = true;
    this.#deps.scheduler.cancelEdit(this.#place.chatId, this);
    this.#cancelWake?.();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(SETTLE_MS, resolve);
    const over = Promise.all([this.#inFlight, this.#typing.end()]).then(() => (this.#certain = true));
    await Promise.race([over, late]);
    cancel();
  }

  /** Text that each message shows, where that is certain: the final delivery leaves alone what is right already. */
  get shown(): readonly (string | undefined)[] {
    return this.#certain ? [...this.#shown] : [];
  }

  /** Requests an edit for the time at which a tool or subagent has run long enough for a line: no event comes then. */
  #wakeForActivity(nowMs: number): void {
    const { clock, scheduler } = this.#deps;
    const at = this.#cancelWake === undefined ? this.#text.nextLineAt(nowMs) : undefined;
    if (at === undefined) return;
    this.#cancelWake = clock.after(at - nowMs, () => {
      this.#cancelWake = undefined;
      this.#wakeForActivity(clock.monotonicMs());
      if (this.#begun) scheduler.requestEdit(this.#place.chatId, this);
    });
  }

  #partOf({ index, chunk }: OutdatedChunk): OutboundPart {
    return {
      ...this.#place,
      body: chunk,
      plain: this.#plain,
      replyTo: index === 0 ? this.#start.replyTo : undefined,
      buttons: [],
      nonce: nonceOf(this.#start.turnId, index),
    };
  }

  /** Decides whether the reply goes on growing. Only "too fast" is left to the scheduler. */
  #handleFailure(thrown: unknown, { index }: OutdatedChunk): void {
    const error = toGatewayError(thrown);
    this.#shown[index] = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    if (code === 'rate_limited') throw error;
    if (code === 'bad_markup' && !this.#plain) {
      this.#plain = true;
      return;
    }
    if (code === 'outcome_unknown' && index >= this.#sent.length) this.#deps.onAmbiguousSend();
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_LIVE_FAILURES;
    const { channel, chatId } = this.#place;
    const { turnId } = this.#start;
    this.#deps.log.warn({ err: error, channel, chatId, turnId, frozen: this.#frozen }, 'live_edit_failed');
  }
}
