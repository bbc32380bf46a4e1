/** A reply that grows in place: one turn's events on one channel's screen. */
import type { Channel, OutboundPart, Rendered } from '../contracts/channel.ts';
import { ChannelError, toGatewayError } from '../contracts/errors.ts';
import type { AgentEvent } from '../contracts/event.ts';
import type { LiveTurn, LiveTurnStart } from '../contracts/delivery.ts';
import type { Log } from '../contracts/log.ts';
import { parseAddress } from '../contracts/message.ts';
import type { Place, SentMessage } from '../contracts/message.ts';
import type { Clock } from '../lib/clock.ts';
import { LiveText } from './live-text.ts';
import { nonceOf } from './nonce.ts';
import type { LiveEdit, Scheduler } from './scheduler.ts';
import { Typing } from './typing.ts';

/** How long `settle` waits for a call in flight (DESIGN: LiveTurn). */
export const SETTLE_MS = 10_000;

/** After this many failed calls in a row the reply stops growing; the final delivery says it all. */
export const MAX_LIVE_FAILURES = 3;

export interface LiveMessageDeps {
  channel: Channel;
  scheduler: Scheduler;
  clock: Clock;
  log: Log;
  /** Lets others run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  /** Told of a send that may or may not be on screen. */
  onAmbiguousSend: () => void;
}

/** One message to bring up to date. */
interface Next {
  index: number;
  page: Rendered;
  /** There are messages after this one. */
  more: boolean;
}

export class LiveMessage implements LiveTurn, LiveEdit {
  readonly #deps: LiveMessageDeps;
  readonly #start: LiveTurnStart;
  readonly #place: Place;
  readonly #text: LiveText;
  readonly #typing: Typing;
  readonly #sent: SentMessage[];
  /** What each message shows, as far as this process knows. */
  readonly #shown: (string | undefined)[] = [];
  /** Messages below this are settled and shown: they are never looked at again. */
  #firstOpen = 0;
  #plain = false;
  /** Set when earlier answers to the chat are on screen: a first message sent before would stand above them. */
  #begun: boolean;
  /** Settled in time: no call can change the screen any more. */
  #certain = false;
  #failures = 0;
  /** Set when the screen cannot or need not follow any more. */
  #frozen = false;
  #inFlight: Promise<unknown> = Promise.resolve();
  #wake: (() => void) | undefined;

  constructor(start: LiveTurnStart, deps: LiveMessageDeps) {
    const { channel } = deps;
    this.#deps = deps;
    this.#start = start;
    this.#place = parseAddress(start.address);
    this.#sent = [...start.placeholders];
    this.#begun = start.placeholders.length > 0;
    this.#frozen = channel.edit === undefined;
    const sheet = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
    this.#text = new LiveText(sheet, start.textSoFar);
    this.#typing = new Typing(channel, this.#place, deps.clock, deps.scheduler);
  }

  /** Takes one event of the turn. A token costs an append; everything else waits for the chat's next turn to be called. */
  take(event: AgentEvent): void {
    if (this.#frozen) return;
    const nested = event.isSubagent === true;
    if (!nested && (event.type === 'stream_reset' || event.type === 'snapshot')) this.#firstOpen = 0;
    if (!this.#text.take(event, this.#deps.clock.monotonicMs())) return;
    this.#wakeForActivity();
    if (this.#begun) this.#deps.scheduler.want(this.#place.chatId, this);
  }

  /** True when its first message is on screen already. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Lets its first message be sent. */
  begin(): void {
    this.#begun = true;
    if (!this.#frozen) this.#deps.scheduler.want(this.#place.chatId, this);
  }

  show(): Promise<boolean> {
    const showing = this.#showNext();
    // The scheduler hears of a failure; whoever settles only needs to know that the call is over.
    this.#inFlight = showing.catch(() => undefined);
    return showing;
  }

  async settle(): Promise<void> {
    this.#frozen = true;
    this.#deps.scheduler.forget(this.#place.chatId, this);
    this.#wake?.();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(SETTLE_MS, resolve);
    const over = Promise.all([this.#inFlight, this.#typing.end()]).then(() => (this.#certain = true));
    await Promise.race([over, late]);
    cancel();
  }

  /** What each message shows, where that is certain: the final delivery leaves alone what is right already. */
  get shown(): readonly (string | undefined)[] {
    return this.#certain ? [...this.#shown] : [];
  }

  /** A tool or a subagent is shown once it has run for a while: nobody else would ask for that edit. */
  #wakeForActivity(): void {
    const { clock, scheduler } = this.#deps;
    const at = this.#text.nextAt(clock.monotonicMs());
    if (at === undefined || this.#wake !== undefined) return;
    this.#wake = clock.after(at - clock.monotonicMs(), () => {
      this.#wake = undefined;
      this.#wakeForActivity();
      if (this.#begun) scheduler.want(this.#place.chatId, this);
    });
  }

  async #showNext(): Promise<boolean> {
    if (this.#frozen) return false;
    const next = await this.#next();
    if (next === undefined || this.#frozen) return false;
    try {
      await this.#put(next);
      this.#failures = 0;
      this.#typing.seen();
      return next.more && !this.#frozen;
    } catch (error) {
      this.#failed(error, next);
      return !this.#frozen;
    }
  }

  /** The first message that does not show what it should: finished ones get their last text before later ones appear. */
  async #next(): Promise<Next | undefined> {
    const { settled, open } = await this.#text.pages(
      this.#deps.yieldToEventLoop,
      this.#deps.clock.monotonicMs(),
    );
    for (let index = this.#firstOpen; ; index++) {
      const page = settled.at(index) ?? open[index - settled.settled];
      if (page === undefined) return undefined;
      const more = index + 1 < settled.settled + open.length;
      if (index >= this.#sent.length || this.#shown[index] !== page.text) return { index, page, more };
      if (index < settled.settled) this.#firstOpen = index + 1;
    }
  }

  async #put({ index, page }: Next): Promise<void> {
    const { channel } = this.#deps;
    const part = this.#part(index, page);
    const known = this.#sent[index];
    if (known === undefined) {
      // The id is stored before any edit builds on it: after a crash the reply goes on in this message.
      this.#sent.push(await channel.send(part));
      this.#shown[index] = page.text;
      await this.#start.note([...this.#sent]);
    } else {
      await channel.edit?.(known, part);
      this.#shown[index] = page.text;
    }
  }

  #part(index: number, body: Rendered): OutboundPart {
    return {
      ...this.#place,
      body,
      plain: this.#plain,
      replyTo: index === 0 ? this.#start.replyTo : undefined,
      buttons: [],
      nonce: nonceOf(this.#start.turnId, index),
    };
  }

  /** Decides whether the reply goes on growing. Only "too fast" is the scheduler's business. */
  #failed(thrown: unknown, next: Next): void {
    const error = toGatewayError(thrown);
    this.#shown[next.index] = undefined;
    const code = error instanceof ChannelError ? error.code : undefined;
    if (code === 'rate_limited') throw error;
    if (code === 'bad_markup' && !this.#plain) {
      this.#plain = true;
      return;
    }
    if (code === 'outcome_unknown' && next.index >= this.#sent.length) this.#deps.onAmbiguousSend();
    this.#failures++;
    this.#frozen = code !== 'unavailable' || this.#failures >= MAX_LIVE_FAILURES;
    this.#deps.log.warn(
      { err: error, turnId: this.#start.turnId, frozen: this.#frozen },
      'a growing reply could not be shown',
    );
  }
}
