/** Listeners by session and turn: an event finds those that asked for it, never by looking at all of them. */
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
  #everything: readonly Entry[] = [];
  /** Lists are replaced, never changed: a listener may end or begin one while it is being walked. */
  #byKey = new Map<string, readonly Entry[]>();
  #queue: AgentEvent[] = [];
  #dispatching = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Adds a listener; gives the function that removes it. */
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

  /** Calls the listeners now, one event after the other also when a listener emits. Never throws. */
  dispatch(event: AgentEvent): void {
    if (this.#dispatching) {
      this.#queue.push(event);
      return;
    }
    this.#dispatching = true;
    this.#callAll(event);
    if (this.#queue.length > 0) {
      for (const next of this.#queue) this.#callAll(next);
      this.#queue = [];
    }
    this.#dispatching = false;
  }

  #callAll(event: AgentEvent): void {
    if (this.#everything.length > 0) this.#call(this.#everything, event);
    const ofSession = this.#byKey.get(event.sessionKey);
    if (ofSession !== undefined) this.#call(ofSession, event);
    const ofTurn = event.turnId === undefined ? undefined : this.#byKey.get(event.turnId);
    if (ofTurn !== undefined) this.#call(ofTurn, event);
  }

  #call(entries: readonly Entry[], event: AgentEvent): void {
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
    if (key === undefined) this.#everything = change(this.#everything);
    else {
      const changed = change(this.#byKey.get(key) ?? []);
      if (changed.length > 0) this.#byKey.set(key, changed);
      else this.#byKey.delete(key);
    }
  }
}
