/** The store's `KeyStore` in memory, for a channel's tests: what it keeps outlives the channel. */
import type { KeyStore } from '../../../src/protocol/channel.ts';

export class MemoryKeys implements KeyStore {
  readonly devices = new Map<string, { version: number; records: Map<string, Uint8Array> }>();
  /** Called before each change is stored. */
  beforeChange: () => void | Promise<void> = () => undefined;

  version(device: string): Promise<number> {
    return Promise.resolve(this.devices.get(device)?.version ?? 0);
  }

  records(device: string): ReturnType<KeyStore['records']> {
    const { version, records } = this.devices.get(device) ?? { version: 0, records: new Map() };
    return Promise.resolve({ version, records: new Map(records) });
  }

  async changeKeys(...[device, version, changes]: Parameters<KeyStore['changeKeys']>): Promise<boolean> {
    await this.beforeChange();
    const stored = this.devices.get(device) ?? { version: 0, records: new Map() };
    if (stored.version !== version) return false;
    for (const [key, value] of changes)
      if (value === undefined) stored.records.delete(key);
      else stored.records.set(key, value);
    stored.version += 1;
    this.devices.set(device, stored);
    return true;
  }
}
