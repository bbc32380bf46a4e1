/** Listeners indexed by session and turn: an event finds those that subscribed to it without checking the others. */
import type { EventFilter, EventListener } from '../contracts/bus.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { AgentEvent } from '../contracts/event.ts';
import type { Log } from '../contracts/log.ts';

interface Entry {
  filter: EventFilter;
  listener: EventListener;
  ended: boolean;
}

export class Listeners {
  readonly #log: Log;
  /** Listeners without a filter. All lists are replaced, never changed: a listener may add or remove one during a dispatch. */
  #ofAll: readonly Entry[] = [];
  /** By turn id if the filter names one, else by session. */
  #byKey = new Map<string, readonly Entry[]>();
  #queue: AgentEvent[] = [];
  #dispatching = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Adds a listener; returns the function that removes it. */
  add(filter: EventFilter, listener: EventListener): () => void {
    const entry: Entry = { filter, listener, ended: false };
    const key = filter.turnId ?? filter.sessionKey;
    this.#change(key, (entries) => [...entries, entry]);
    return () => {
      if (entry.ended) return;
      entry.ended = true;
      this.#change(key, (entries) => entries.filter((other) => other !== entry));
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
      this.#call(this.#ofAll, next);
      this.#call(this.#byKey.get(next.sessionKey), next);
      if (next.turnId !== undefined) this.#call(this.#byKey.get(next.turnId), next);
    }
    this.#dispatching = false;
  }

  #call(entries: readonly Entry[] | undefined, event: AgentEvent): void {
    if (entries === undefined) return;
    for (const { filter, listener, ended } of entries) {
      if (ended || (filter.sessionKey !== undefined && filter.sessionKey !== event.sessionKey)) continue;
      try {
        const result: unknown = listener(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.#logFailure(error, event));
      } catch (error) {
        this.#logFailure(error, event);
      }
    }
  }

  #logFailure(error: unknown, event: AgentEvent): void {
    const { sessionKey, turnId, type } = event;
    this.#log.warn({ err: toGatewayError(error), sessionKey, turnId, type }, 'event_listener_failed');
  }

  #change(key: string | undefined, change: (entries: readonly Entry[]) => Entry[]): void {
    if (key === undefined) this.#ofAll = change(this.#ofAll);
    else {
      const changed = change(this.#byKey.get(key) ?? []);
      if (changed.length > 0) this.#byKey.set(key, changed);
      else this.#byKey.delete(key);
    }
  }
}
