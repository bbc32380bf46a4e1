/** What a gateway gives to a plug-in, in memory: for tests of a plug-in's own code. */
import type { PluginChannelHost, PluginMessage, PluginReceipt } from '../../../src/protocol/plugin.ts';

export class FakeHost implements PluginChannelHost {
  readonly contract = 1;
  readonly settings: PluginChannelHost['settings'];
  readonly dataFolder = '/nowhere';
  readonly received: PluginMessage[] = [];
  readonly stored: Map<string, string>;
  readonly lines: string[] = [];
  readonly states: [state: string, detail: string | undefined][] = [];
  /** What becomes of each message. */
  verdict: (message: PluginMessage) => Promise<PluginReceipt> = () => Promise.resolve({ kind: 'accepted' });

  /** Settings without a value get the default of the manifest. */
  constructor(
    manifest: { settings: readonly { name: string; default?: unknown }[] },
    values: PluginChannelHost['settings'],
    stored = new Map<string, string>(),
  ) {
    const usual = manifest.settings.flatMap(({ name, default: value }) =>
      value === undefined ? [] : [[name, value]],
    );
    this.settings = { ...Object.fromEntries(usual), ...values };
    this.stored = stored;
  }

  readonly log: PluginChannelHost['log'] = (level, event, fields) =>
    void this.lines.push(JSON.stringify({ level, event, ...fields }));

  readonly health: PluginChannelHost['health'] = (state, detail) => void this.states.push([state, detail]);

  readonly store: PluginChannelHost['store'] = {
    get: (key) => Promise.resolve(this.stored.get(key)),
    set: (key, value) => {
      if (value === undefined) this.stored.delete(key);
      else this.stored.set(key, value);
      if ((value?.length ?? 0) > 16_384 || key.length > 200 || this.stored.size > 1_000)
        return Promise.reject(new Error('too much for the store'));
      return Promise.resolve();
    },
  };

  readonly receive: PluginChannelHost['receive'] = async (message) => {
    this.received.push(message);
    return await this.verdict(message);
  };

  get contents(): string[] {
    return this.received.map(({ content }) => content);
  }
}
