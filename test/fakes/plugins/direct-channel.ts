/** A plug-in's channel without the process around it: what it exports, as the gateway's tests of channels use it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Channel, OutboundFile, OutboundPart } from '../../../src/protocol/channel.ts';
import { usualCapabilities } from '../../../src/protocol/channel-settings.ts';
import { steadyRates } from '../../../src/protocol/delivery.ts';
import { ChannelError, type ChannelErrorCode, toGatewayError } from '../../../src/protocol/errors.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import type {
  PluginChannel,
  PluginChannelHost,
  PluginFailure,
  PluginManifest,
  PluginMessage,
  PluginModule,
} from '../../../src/protocol/plugin.ts';
import { textBelow } from '../../../src/lib/markdown/markdown.ts';

export interface DirectOptions {
  manifest: PluginManifest;
  module: Pick<PluginModule, 'channel'>;
  settings: Record<string, string | number | boolean>;
  dataFolder?: string;
}

/** The settings with the defaults of the manifest. */
export function settingsOf(
  { settings = [] }: PluginManifest,
  values: DirectOptions['settings'],
): DirectOptions['settings'] {
  const usual = settings.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]]));
  return { ...Object.fromEntries(usual), ...values };
}

export class DirectChannel {
  readonly channel: Channel;
  readonly plugin: PluginChannel;
  /** What the plug-in stores; a second one on the same store is the plug-in after a restart. */
  readonly stored: Map<string, string>;
  readonly log: string[] = [];
  readonly states: [state: string, detail: string | undefined][] = [];
  #receive: Receive | undefined;
  readonly #name: string;
  #server: ReturnType<typeof createServer> | undefined;

  private constructor(options: DirectOptions, plugin: PluginChannel, stored: Map<string, string>) {
    this.#name = options.manifest.name;
    this.plugin = plugin;
    this.stored = stored;
    this.channel = this.#toChannel(options.manifest);
  }

  static async open(options: DirectOptions, stored = new Map<string, string>()): Promise<DirectChannel> {
    let direct: DirectChannel | undefined;
    const host: PluginChannelHost = {
      contract: 1,
      settings: settingsOf(options.manifest, options.settings),
      dataFolder: options.dataFolder ?? '/nowhere',
      log: (level, event, fields) => void direct?.log.push(JSON.stringify({ level, event, ...fields })),
      store: {
        get: (key) => Promise.resolve(stored.get(key)),
        set: (key, value) => {
          if (value === undefined) stored.delete(key);
          else if (value.length > 16_384 || key.length > 200)
            throw new Error(`too much for the store: ${key}`);
          else stored.set(key, value);
          if (stored.size > 1_000) throw new Error('too many keys');
          return Promise.resolve();
        },
      },
      receive: async (message) => {
        if (direct === undefined) throw new Error('not open');
        return await direct.#take(message);
      },
      health: (state, detail) => void direct?.states.push([state, detail]),
    };
    const plugin = await options.module.channel?.(host);
    if (plugin === undefined) throw new Error('no channel');
    direct = new DirectChannel(options, plugin, stored);
    return direct;
  }

  /** Serves the plug-in's webhook; gives its address. */
  async listen(): Promise<string> {
    this.#server = createServer((request, response) => {
      void (async () => {
        const body = await buffer(request);
        const url = new URL(request.url ?? '/', 'http://127.0.0.1');
        const headers = request.headers as Record<string, string>;
        const answer = await this.plugin.webhook?.({
          method: request.method ?? '',
          query: url.search,
          headers,
          body,
        });
        response.writeHead(answer?.status ?? 404, answer?.headers).end(answer?.body ?? '');
      })();
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  }

  async close(): Promise<void> {
    await this.plugin.stop();
    if (this.#server === undefined) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(message: PluginMessage) {
    if (this.#receive === undefined) throw Object.assign(new Error('not started'), { code: 'unavailable' });
    const inbound = { ...message, channel: this.#name, media: [...(message.media ?? [])] };
    const receipt = await this.#receive(inbound as InboundMessage);
    return { kind: receipt.kind, ...('reply' in receipt && { reply: receipt.reply }) };
  }

  #toChannel({ name, channel: facts }: PluginManifest): Channel {
    const { plugin } = this;
    if (facts === undefined) throw new Error('no channel');
    const { capabilities: can, rates } = facts;
    const call = async <T>(work: () => Promise<T>): Promise<T> => await work().catch(fail);
    const partOf = (part: OutboundPart) => ({ ...part, plain: part.plain ?? false });
    return {
      name,
      capabilities: usualCapabilities({
        edit: can.edit ?? false,
        delete: can.delete ?? false,
        stream: can.edit === true ? 'edit' : 'off',
        buttons: can.buttons ?? false,
        threads: can.threads ?? false,
        typingMs: can.typingMs ?? 0,
        maxFileBytes: can.maxFileBytes ?? 0,
        ...(can.maxFileBytes !== undefined && { maxCaption: can.maxCaption ?? can.maxLength }),
        maxLength: can.maxLength,
        rates: can.edit === true ? steadyRates(rates) : { ...steadyRates({ ...rates, editIntervalMs: 0 }) },
      }),
      start: async (receive) => {
        this.#receive = receive;
        await call(() => plugin.start());
      },
      stop: async () => {
        await plugin.stop();
        this.#receive = undefined;
      },
      send: async (part) => await call(() => plugin.send(partOf(part))),
      ...(plugin.sendFile && {
        sendFile: async (file: OutboundFile) =>
          await call(async () => (await plugin.sendFile?.(file)) ?? { id: '' }),
      }),
      ...(plugin.download && {
        download: async (media, signal) =>
          await call(async () => {
            const bytes = await plugin.download?.(media, signal);
            return translated(
              bytes instanceof Uint8Array || bytes === undefined ? [bytes ?? new Uint8Array()] : bytes,
            );
          }),
      }),
      ...(plugin.typing && { typing: async (place) => await call(async () => await plugin.typing?.(place)) }),
      render: (doc) => {
        const text = textBelow(doc);
        return { text, plain: text, length: text.length };
      },
      health: () => ({ state: 'up' }),
    } satisfies Channel as Channel;
  }
}

async function* translated(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    fail(error);
  }
}

function fail(thrown: unknown): never {
  const { code = 'unavailable', message, retryAfterMs, movedTo } = thrown as PluginFailure;
  const retryable = /^(rate_limited|unavailable|unauthorized|conflict|outcome_unknown)$/.test(code);
  const details = {
    retryable,
    ...(movedTo && { movedTo }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  throw new ChannelError(code as ChannelErrorCode, message, { ...details, cause: toGatewayError(thrown) });
}
