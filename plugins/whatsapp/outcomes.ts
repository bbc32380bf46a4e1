/** What WhatsApp reports about the bot's own messages, as long as anyone may ask. In memory; bounded. */

/** Messages that are remembered. */
export const MAX_OUTCOMES = 2_000;

export class Outcomes {
  /** The id of the message that was sent with a key. */
  readonly #ids = new Map<string, string>();
  /** The content of messages, by key, for those that are refused only later. */
  readonly #bodies = new Map<string, object>();
  readonly #waiting = new Map<string, (id: string) => void>();

  sending(key: string, body: object): void {
    put(this.#bodies, key, body);
  }

  sent(key: string, id: string): void {
    put(this.#ids, key, id);
    this.#waiting.get(key)?.(id);
  }

  idOf(key: string): string | undefined {
    return this.#ids.get(key);
  }

  bodyOf(key: string): object | undefined {
    return this.#bodies.get(key);
  }

  /** The content is not needed any more: it has arrived. */
  arrived(key: string): void {
    this.#bodies.delete(key);
  }

  /** Resolves once a message with this key is reported. */
  async reported(key: string): Promise<string> {
    const id = this.#ids.get(key);
    if (id !== undefined) return id;
    return await new Promise((resolve) => {
      const done = (id: string): void => {
        this.#waiting.delete(key);
        resolve(id);
      };
      put(this.#waiting, key, done);
    });
  }
}

/** Puts a value last; the oldest yields. */
export function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_OUTCOMES) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
