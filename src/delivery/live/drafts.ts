/** A reply that is shown as drafts: nothing of it stays on screen, and its final text is sent as a separate message. */
import type { Channel, Rendered } from '../../protocol/channel.ts';
import { ChannelError, isClosedChat, toGatewayError } from '../../protocol/errors.ts';
import type { DraftRules } from '../../protocol/delivery.ts';
import type { Log } from '../../protocol/log.ts';
import type { Place } from '../../protocol/message.ts';
import type { LiveCalls } from './calls.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Scheduler } from '../rate/scheduler.ts';
import type { LiveText } from './live-text.ts';
import { documentOf, withFooter } from '../text/chunker.ts';

/** The current look of a draft; undefined while it is empty. `usual`: not as a rich message. Never throws. */
type DraftLook = (usual: boolean) => Promise<Rendered | undefined>;

/** Longest Markdown that is parsed as a whole for each draft, in UTF-16 units. */
const MAX_WHOLE = 65_536;

/** A draft is shown again after this fraction of the time that it stays. */
const RENEW = 0.6;

/** Creating drafts may take at most one part in this many of the time: a long text is shown less often. */
const PAUSE_PER_WORK = 10;

/** How long a turn without output keeps its draft, in milliseconds. */
export const DRAFT_TTL_MS = 600_000;

const THINKING: Rendered = { text: '', plain: '', length: 0 };

interface DraftsDeps {
  channel: Channel;
  rules: DraftRules;
  scheduler: Scheduler;
  clock: Clock;
  log: Log;
  turnId: string;
  place: Place;
  look: DraftLook;
  calls: LiveCalls;
  /** Called when no one can read the reply. */
  onBlocked: () => void;
  /** Called when the platform accepts no drafts there. */
  onRefused: () => void;
}

/** Shows the newest text about every `everyMs`, and shows the same text again before it disappears. */
export class Drafts {
  readonly #deps: DraftsDeps;
  readonly #until: number;
  #shown: string | undefined;
  #calledAt = Number.NEGATIVE_INFINITY;
  #plain = false;
  #usual = false;
  #madeInMs = 0;
  #ended = false;
  #cancel: (() => void) | undefined;
  #inFlight: Promise<void> | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(deps: DraftsDeps) {
    this.#deps = deps;
    this.#until = deps.clock.monotonicMs() + DRAFT_TTL_MS;
    this.#callAt(deps.clock.monotonicMs());
  }

  /** There is something new to show. Cheap to repeat. */
  request(): void {
    const pause = Math.max(this.#deps.rules.everyMs, this.#madeInMs * PAUSE_PER_WORK);
    this.#callAt(Math.max(this.#deps.clock.monotonicMs(), this.#calledAt + pause));
  }

  /** A message has replaced the draft: shows the draft again. */
  replaced(): void {
    this.#shown = undefined;
    this.request();
  }

  /** Makes no further draft; resolves when the call in flight has ended. Never throws. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancel?.();
    await this.#inFlight;
  }

  #callAt(at: number): void {
    if (this.#ended || at >= this.#dueAt || at > this.#until) return;
    const { clock } = this.#deps;
    this.#cancel?.();
    this.#dueAt = at;
    this.#cancel = clock.after(Math.max(0, at - clock.monotonicMs()), () => this.#begin());
  }

  /** A call in flight is followed by the next one when it has ended. */
  #begin(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#ended) return;
    if (this.#inFlight !== undefined) {
      void this.#inFlight.then(() => this.request());
      return;
    }
    this.#inFlight = this.#show()
      .catch((error: unknown) => this.#stop(toGatewayError(error)))
      .finally(() => {
        this.#inFlight = undefined;
      });
  }

  async #show(): Promise<void> {
    const { clock, scheduler, place, rules, look, calls } = this.#deps;
    const startedAt = clock.monotonicMs();
    const body = (await look(this.#usual)) ?? THINKING;
    this.#madeInMs = clock.monotonicMs() - startedAt;
    const isDue = clock.monotonicMs() - this.#calledAt >= rules.keepMs * RENEW;
    if (this.#ended || (body.text === this.#shown && !isDue)) return this.#renewLater();
    let failure: unknown;
    let wasCalled = false;
    await scheduler.tryOptional({ place }, async () => {
      wasCalled = true;
      failure = await this.#call(body);
      if (failure instanceof ChannelError && failure.code === 'rate_limited') throw failure;
    });
    this.#calledAt = clock.monotonicMs();
    if (failure !== undefined) {
      this.#handleFailure(failure, body);
      return undefined;
    }
    // If the limits allowed no call, the next one comes an interval later.
    if (!wasCalled) return this.request();
    calls.shown('edited');
    this.#shown = body.text;
    return this.#renewLater();
  }

  /** Returns the error, if any. */
  async #call(body: Rendered): Promise<unknown> {
    try {
      const { channel, place, turnId } = this.#deps;
      await channel.draft?.(place, turnId, body, this.#plain);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #renewLater(): void {
    const { rules } = this.#deps;
    this.#callAt(this.#calledAt + rules.keepMs * RENEW);
  }

  #handleFailure(failure: unknown, body: Rendered): void {
    const error = toGatewayError(failure);
    const code = error instanceof ChannelError ? error.code : undefined;
    const { calls, clock, rules } = this.#deps;
    calls.failed(error);
    if (body.rich === true && (code === 'bad_markup' || code === 'rejected')) {
      this.#usual = true;
      this.request();
    } else if (code === 'bad_markup' && !this.#plain) {
      this.#plain = true;
      this.request();
    } else if (code === 'rate_limited' || code === 'unavailable') {
      this.#callAt(clock.monotonicMs() + Math.max(rules.everyMs, error.retryAfterMs ?? rules.everyMs * 5));
    } else this.#stop(error);
  }

  #stop(error: Error): void {
    this.#ended = true;
    const { log, place, turnId, onBlocked, onRefused } = this.#deps;
    const { channel, chatId } = place;
    if (isClosedChat(error)) onBlocked();
    if (error instanceof ChannelError && error.code === 'rejected') onRefused();
    log.warn({ err: error, channel, chatId, turnId }, 'draft_failed');
  }
}

/** The text as the same kind of message as the answer, so that nothing jumps; the newest one of several. */
export function draftLook(text: LiveText, channel: Channel, place: Place, clock: Clock): DraftLook {
  return async (usual) => {
    const nowMs = clock.monotonicMs();
    if (!usual && channel.renderWhole !== undefined) {
      const { markdown, footer } = await text.whole(nowMs);
      const read = async (source: string) => {
        const doc = await documentOf(source);
        return footer === undefined ? doc : withFooter(doc, footer);
      };
      const whole = { markdown, documentOf: read, grows: true } as const;
      const rich = markdown.length > MAX_WHOLE ? undefined : await channel.renderWhole(place, whole);
      if (rich !== undefined) return rich;
    }
    return await text.latest(nowMs);
  };
}
