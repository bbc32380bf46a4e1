/** Listeners indexed by session and turn: an event finds those that subscribed to it without checking the others. */
import type { EventFilter, EventListener } from '../contracts/bus.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { AgentEvent } from '../contracts/event.ts';
import type { Log } from '../contracts/log.ts';

/** Calls a listener with an event that its filter lets through. Never throws. */
type Deliver = (event: AgentEvent) => void;

const NONE: readonly Deliver[] = [];

export class Listeners {
  readonly #log: Log;
  /** Listeners without a filter. All lists are replaced, never changed: a listener may add or remove one during a dispatch. */
  #ofAll = NONE;
  /** By turn id if the filter names one, else by session. */
  readonly #byKey = new Map<string, readonly Deliver[]>();
  #queue: AgentEvent[] = [];
  #dispatching = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Adds a listener; returns the function that removes it, after which it is not called any more. What it throws is
   * logged, and keeps no event from the others.
   */
  add(filter: EventFilter, listener: EventListener): () => void {
    const key = filter.turnId ?? filter.sessionKey;
    let isEnded = false;
    const deliver: Deliver = (event) => {
      if (isEnded || (filter.sessionKey !== undefined && filter.sessionKey !== event.sessionKey)) return;
      try {
        const result: unknown = listener(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.#logFailure(error, event));
      } catch (error) {
        this.#logFailure(error, event);
      }
    };
    this.#change(key, (before) => [...before, deliver]);
    return () => {
      if (isEnded) return;
      isEnded = true;
      this.#change(key, (before) => before.filter((other) => other !== deliver));
    };
  }

  /** Calls the listeners now; an event that one of them emits is delivered after this one, to all. Never throws. */
  dispatch(event: AgentEvent): void {
    if (this.#dispatching) {
      this.#queue.push(event);
      return;
    }
    this.#dispatching = true;
    for (let next: AgentEvent | undefined = event; next !== undefined; next = this.#queue.shift()) {
      for (const deliver of this.#ofAll) deliver(next);
      for (const deliver of this.#byKey.get(next.sessionKey) ?? NONE) deliver(next);
      if (next.turnId === undefined) continue;
      for (const deliver of this.#byKey.get(next.turnId) ?? NONE) deliver(next);
    }
    this.#dispatching = false;
  }

  #change(key: string | undefined, change: (before: readonly Deliver[]) => Deliver[]): void {
    if (key === undefined) {
      this.#ofAll = change(this.#ofAll);
      return;
    }
    const changed = change(this.#byKey.get(key) ?? NONE);
    if (changed.length > 0) this.#byKey.set(key, changed);
    else this.#byKey.delete(key);
  }

  #logFailure(error: unknown, event: AgentEvent): void {
    const { sessionKey, turnId, type } = event;
    this.#log.warn({ err: toGatewayError(error), sessionKey, turnId, type }, 'event_listener_failed');
  }
}
