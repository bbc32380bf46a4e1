/** Inside a plug-in's process: what the gateway may call, made from what the plug-in's module exports. */
import type {
  PluginChannel,
  PluginChannelHost,
  PluginHost,
  PluginMedia,
  PluginModule,
  PluginProvider,
  PluginServer,
  PluginTool,
  PluginWebhookRequest,
} from '../../protocol/plugin.ts';

/** What the gateway says first. */
export interface Opening {
  /** Absolute path of the module. */
  main: string;
  /** What of it is used. */
  provides: readonly ('channel' | 'tools' | 'provider')[];
  settings: PluginHost['settings'];
  dataFolder: string;
  /** The folder of the proxy's socket. */
  folder: string;
  hosts: readonly { host: string; port: number }[];
  listens: readonly number[];
}

interface CallContext {
  signal: AbortSignal;
  chunk: (value: unknown) => void;
  progress: (text: string) => void;
}

interface Method {
  /** As a method, because each takes arguments of its own: the gateway sends the right ones. */
  run(args: unknown[], context: CallContext): unknown;
}

/** By name: `channel.send`, `tool`, `provider.streamChat`. */
export type Methods = Record<string, Method['run']>;

interface Gateway {
  ask: (method: string, ...args: unknown[]) => Promise<unknown>;
  note: (method: string, ...args: unknown[]) => void;
  writeFile: (file: string, data: Uint8Array | AsyncIterable<Uint8Array>) => Promise<void>;
}

/** Calls what the module exports, once. Throws what that throws, and for exports that the manifest promises and are missing. */
export async function createMethods(
  module: PluginModule,
  opening: Opening,
  gateway: Gateway,
): Promise<Methods> {
  const host = createHost(opening, gateway);
  const methods: Methods = {};
  for (const part of opening.provides)
    if (typeof module[part] !== 'function')
      throw new Error(`parley.plugin.json promises ${part}, but main exports no function ${part}`);
  if (opening.provides.includes('channel') && module.channel)
    Object.assign(methods, channelMethods(await module.channel(host), gateway));
  if (opening.provides.includes('tools') && module.tools)
    Object.assign(methods, toolMethods(await module.tools(host)));
  if (opening.provides.includes('provider') && module.provider)
    Object.assign(methods, providerMethods(await module.provider(host)));
  return methods;
}

function createHost({ settings, dataFolder }: Opening, { ask, note }: Gateway): PluginChannelHost {
  return {
    contract: 1,
    settings,
    dataFolder,
    log: (level, event, fields) => note('log', level, event, fields ?? {}),
    store: {
      get: async (key) => (await ask('store.get', key)) as string | undefined,
      set: async (key, value) => void (await ask('store.set', key, value)),
    },
    receive: async (message) => (await ask('receive', message)) as never,
    health: (state, detail) => note('health', state, detail),
  };
}

/** Calls that are passed on as they come. */
const PLAIN = ['start', 'stop', 'send', 'edit', 'delete', 'removeButtons', 'sendFile'] as const;
const MORE_PLAIN = ['typing', 'react', 'isAdmin', 'before'] as const;

function channelMethods(channel: PluginChannel, { writeFile }: Gateway): Methods {
  const methods: Methods = {};
  for (const name of [...PLAIN, ...MORE_PLAIN]) {
    const call = channel[name]?.bind(channel) as ((...args: unknown[]) => unknown) | undefined;
    if (call) methods[`channel.${name}`] = (args: unknown[]) => call(...args);
  }
  if (channel.identify) methods['channel.identify'] = (_, { signal }) => channel.identify?.(signal);
  if (channel.check) methods['channel.check'] = (_, { signal }) => channel.check?.(signal);
  if (channel.download)
    methods['channel.download'] = async ([media, file]: [PluginMedia, string], { signal }) =>
      await writeFile(file, (await channel.download?.(media, signal)) ?? new Uint8Array());
  if (channel.webhook)
    methods['channel.webhook'] = ([request]: [Omit<PluginWebhookRequest, 'body'> & { body: string }]) =>
      channel.webhook?.({ ...request, body: Buffer.from(request.body, 'base64') });
  return methods;
}

function toolMethods(tools: Readonly<Record<string, PluginTool>>): Methods {
  const names = Object.keys(tools).map((name) => [`tool.${name}`, () => undefined] as const);
  return {
    // By these names the gateway sees which tools there are.
    ...Object.fromEntries(names),
    tool: async (
      [name, args, call]: [string, Record<string, unknown>, Record<string, string>],
      { signal, progress },
    ) => {
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (tool === undefined) throw new Error(`main exports no tool ${name}`);
      const { callKey = '', userId = '', address = '' } = call;
      return await tool(args, { signal, callKey, userId, address, progress });
    },
  };
}

function providerMethods(provider: PluginProvider): Methods {
  const methods: Methods = {
    'provider.models': ([server]: [PluginServer], { signal }) => provider.models(server, signal),
    'provider.capabilities': ([server, model]: [PluginServer, string], { signal }) =>
      provider.capabilities(server, model, signal),
    'provider.streamChat': async (
      [server, request]: [PluginServer, Parameters<PluginProvider['streamChat']>[1]],
      { signal, chunk },
    ) => {
      for await (const piece of provider.streamChat(server, request, signal)) chunk(piece);
    },
  };
  if (provider.embed)
    methods['provider.embed'] = (
      [server, request]: [PluginServer, { model: string; input: readonly string[] }],
      { signal },
    ) => provider.embed?.(server, request, signal);
  return methods;
}
