/** Small records in the gateway's store, many to a value: the store has few keys. The oldest of a value yield. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { PluginChannelHost } from '../../src/protocol/plugin.ts';

/** Values that the records of one kind are spread over, and the longest of them, in UTF-16 units (16 KiB at most). */
const VALUES = 64;
const MAX_VALUE = 7_500;

const Value = z.array(z.tuple([z.string(), z.unknown()]));

export class Records<Item> {
  readonly #store: PluginChannelHost['store'];
  readonly #kind: string;
  readonly #shape: z.ZodType<Item>;
  /** Changes follow each other. */
  #changes: Promise<unknown> = Promise.resolve();

  constructor(store: PluginChannelHost['store'], kind: string, shape: z.ZodType<Item>) {
    this.#store = store;
    this.#kind = kind;
    this.#shape = shape;
  }

  async get(...names: string[]): Promise<Item | undefined> {
    const key = digest(names.join('\n'));
    const entry = (await this.#entries(key)).find(([name]) => name === key);
    return entry === undefined ? undefined : this.#shape.safeParse(entry[1]).data;
  }

  async set(item: Item, ...names: string[]): Promise<void> {
    const key = digest(names.join('\n'));
    const change = this.#changes.then(async () => {
      const entries = (await this.#entries(key)).filter(([name]) => name !== key);
      entries.push([key, item]);
      let value = JSON.stringify(entries);
      while (value.length > MAX_VALUE && entries.length > 1) {
        entries.shift();
        value = JSON.stringify(entries);
      }
      await this.#store.set(this.#placeOf(key), value);
    });
    this.#changes = change.catch(() => undefined);
    await change;
  }

  async #entries(key: string): Promise<z.infer<typeof Value>> {
    const value = await this.#store.get(this.#placeOf(key));
    return value === undefined ? [] : Value.parse(JSON.parse(value));
  }

  #placeOf(key: string): string {
    return `${this.#kind}.${Number.parseInt(key.slice(0, 6), 16) % VALUES}`;
  }
}

/** Names what is too long to be a key. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}
