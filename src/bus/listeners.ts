/** Who listens to what: an event finds its listeners by session and turn, never by looking at all of them. */
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
    this.#deliver(event);
    for (const next of this.#queue) this.#deliver(next);
    if (this.#queue.length > 0) this.#queue = [];
    this.#dispatching = false;
  }

  #deliver(event: AgentEvent): void {
    this.#tell(this.#everything, event);
    this.#tell(this.#byKey.get(event.sessionKey), event);
    if (event.turnId !== undefined) this.#tell(this.#byKey.get(event.turnId), event);
  }

  #tell(entries: readonly Entry[] | undefined, event: AgentEvent): void {
    if (entries === undefined) return;
    for (const { filter, listener, ended } of entries) {
      if (ended || (filter.sessionKey !== undefined && filter.sessionKey !== event.sessionKey)) continue;
      try {
        const result: unknown = listener(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.#blame(error, event));
      } catch (error) {
        this.#blame(error, event);
      }
    }
  }

  #blame(error: unknown, event: AgentEvent): void {
    const { sessionKey, type } = event;
    this.#log.warn({ err: toGatewayError(error), sessionKey, type }, 'an event listener failed');
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
