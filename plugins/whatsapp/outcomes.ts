/**
 * What WhatsApp reports about the bot's own messages: it has no idempotency, but names each message together with the key
 * that came with it. Sends that have begun are stored, so that another process finds out what became of them.
 */
import type { PluginChannelHost } from '../../src/protocol/plugin.ts';

/** Messages that are remembered in memory, and sends that are stored. */
export const MAX_REMEMBERED = 2_000;
const MAX_STORED = 400;

export class Outcomes {
  readonly #store: PluginChannelHost['store'];
  /** The id of the message that was sent with a key. */
  readonly #ids = new Map<string, string>();
  /** The content of messages, by key, for those that are refused only later. */
  readonly #bodies = new Map<string, object>();
  readonly #waiting = new Map<string, (id: string) => void>();

  constructor(store: PluginChannelHost['store']) {
    this.#store = store;
  }

  /** A send begins. Gives what became of an earlier attempt: an id, `unknown`, or undefined if there was none. */
  async begin(key: string, body: object): Promise<string | undefined> {
    put(this.#bodies, key, body);
    const id = this.#ids.get(key);
    if (id !== undefined) return id;
    const [storedKey, storedId] = (await this.#store.get(placeOf(key)))?.split(' ') ?? [];
    if (storedKey === key) return storedId ?? 'unknown';
    await this.#store.set(placeOf(key), key);
    return undefined;
  }

  /** It has ended: as a message, which stays known until the gateway has stored it, or as none. */
  async end(key: string, id?: string): Promise<void> {
    if (id !== undefined) this.#sent(key, id);
    await this.#store.set(placeOf(key), id === undefined ? undefined : `${key} ${id}`);
  }

  /** WhatsApp reports a message; the process that sent it may be gone. */
  async note(key: string, id: string): Promise<void> {
    if (this.#ids.has(key)) return;
    if ((await this.#store.get(placeOf(key))) === key) await this.#store.set(placeOf(key), `${key} ${id}`);
    this.#sent(key, id);
  }

  /** The content of a message that has not arrived yet. */
  bodyOf(key: string): object | undefined {
    return this.#bodies.get(key);
  }

  /** The content is not needed any more. */
  arrived(key: string): void {
    this.#bodies.delete(key);
  }

  /** Resolves once a message with this key is reported. */
  async reported(key: string): Promise<string> {
    return this.#ids.get(key) ?? (await new Promise((resolve) => put(this.#waiting, key, resolve)));
  }

  #sent(key: string, id: string): void {
    put(this.#ids, key, id);
    this.#waiting.get(key)?.(id);
    this.#waiting.delete(key);
  }
}

/** Few keys of the store for any number of sends: a newer one takes the place of one that nobody has asked for. */
function placeOf(key: string): string {
  return `sending.${Number.parseInt(key.slice(0, 8), 16) % MAX_STORED}`;
}

/** Puts a value last; the oldest yields. */
export function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
