/** What channels keep, in memory: for tests of a channel without a database. */
import { builtInLanguages } from '../gateway/languages.ts';
import { MemoryKeys } from './keys.ts';
import { MemoryConnections } from './connections.ts';
import {
  MAX_WAITING_UPDATES,
  type StoredUpdate,
  type UpdateStore,
  type WaitingUpdate,
} from '../../../src/protocol/receive.ts';
import type { ChatSettingStore } from '../../../src/protocol/channel.ts';

class MemoryUpdates implements UpdateStore {
  readonly waiting = new Map<number, unknown>();
  readonly finished = new Set<number>();

  async storeUpdate(_bot: string, { id, update }: WaitingUpdate): Promise<StoredUpdate> {
    if (this.waiting.has(id) || this.finished.has(id)) return 'repeated';
    if (this.waiting.size >= MAX_WAITING_UPDATES) return 'full';
    this.waiting.set(id, update);
    return 'stored';
  }

  async waitingUpdates(_bot: string, limit: number): Promise<WaitingUpdate[]> {
    const sorted = [...this.waiting].toSorted(([a], [b]) => a - b);
    return sorted.slice(0, limit).map(([id, update]) => ({ id, update }));
  }

  async finishUpdates(_bot: string, ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      this.waiting.delete(id);
      this.finished.add(id);
    }
  }
}

export class MemoryChatSettings implements ChatSettingStore {
  readonly settings = new Map<string, string>();

  async chatSetting(chat: string, name: string): Promise<string | undefined> {
    return this.settings.get(`${chat} ${name}`);
  }

  async setChatSetting(chat: string, name: string, value: string | undefined): Promise<void> {
    if (value === undefined) this.settings.delete(`${chat} ${name}`);
    else this.settings.set(`${chat} ${name}`, value);
  }
}

/** A channel without rules and owners, in the built-in languages. */
export const NOBODY = {
  access: () => undefined,
  owners: async (): Promise<string[]> => [],
  languages: builtInLanguages,
};

/** Empty stores of every kind. */
export function memoryStores() {
  return {
    connections: new MemoryConnections(),
    updates: new MemoryUpdates(),
    chatSettings: new MemoryChatSettings(),
    keys: new MemoryKeys(),
  };
}
