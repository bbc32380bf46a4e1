/**
 * The contract of plug-ins, version 1: what `parley.plugin.json` says, what the plug-in's module exports, and what the
 * gateway gives it. It imports only types: with `plugin-channel.ts` it is published as `@parley/sdk`. [docs/plugins.md]
 */
import type { PluginChannel, PluginMessage, PluginReceipt } from './plugin-channel.ts';

export type * from './plugin-channel.ts';

/** The version of the contract that a manifest names in `contract`. */
export type PluginContract = 1;

/** `parley.plugin.json`. Fields that are not listed here are refused. */
export interface PluginManifest {
  contract: PluginContract;
  /** A lower-case letter, then letters and digits, at most 32: also the name of its channel and of its kind of model server. */
  name: string;
  /** Of the plug-in, such as `1.2.0`. */
  version: string;
  /** For people, such as `WhatsApp`. */
  label: string;
  /** One line for people. */
  description?: string | undefined;
  /** The module, relative to the folder: JavaScript, or TypeScript whose types can be erased. Unset for skills alone. */
  main?: string | undefined;
  settings?: readonly PluginSetting[] | undefined;
  rights?: PluginRights | undefined;
  /** At least one of them. */
  channel?: PluginChannelFacts | undefined;
  tools?: readonly PluginToolFacts[] | undefined;
  provider?: PluginProviderFacts | undefined;
  /** Folders with a `SKILL.md`, relative to the plug-in's. */
  skills?: readonly string[] | undefined;
}

/**
 * An environment variable (`WHATSAPP_TOKEN`), or a field of `plugins.<name>` in `config.json` (`editIntervalMs`). Secrets
 * are always variables.
 */
export interface PluginSetting {
  name: string;
  description: string;
  /** Default `text`. */
  type?: 'text' | 'number' | 'boolean' | 'url' | undefined;
  secret?: boolean | undefined;
  /** Without its value the plug-in does not start. */
  required?: boolean | undefined;
  default?: string | number | boolean | undefined;
}

/** What the plug-in's process may do. An owner agrees to all of it when the plug-in is added; what is unset is not allowed. */
export interface PluginRights {
  /**
   * Hosts that it may connect to: `graph.example.org` (port 443), `imap.example.org:993`, `*.example.org`; `{SETTING}` is
   * the host, `host:port` or URL in a setting, `{HOST}:{PORT}` those in two. Names resolve only to public addresses, except
   * those from settings.
   */
  network?: readonly string[] | undefined;
  /** Ports on loopback that it may listen on, or `{SETTING}`. Platforms that post webhooks need none: see `webhook`. */
  listen?: readonly (number | string)[] | undefined;
  /** Variables of the gateway that its own environment has, such as `TZ`. Settings need none: see `PluginHost.settings`. */
  environment?: readonly string[] | undefined;
  /** Folders in its own data folder; `.` is all of it. What it may write, it may read. */
  files?: { read?: readonly string[] | undefined; write?: readonly string[] | undefined } | undefined;
  /** What Node.js forbids it otherwise. */
  runtime?: readonly ('child-process' | 'worker' | 'addons' | 'wasi')[] | undefined;
  /** Memory that it may hold, in MiB: 64 to 2048, default 256. */
  memory?: number | undefined;
}

/** A channel before its code runs: everything that the gateway must know without asking. */
export interface PluginChannelFacts {
  /** The setting whose value switches the channel on. */
  needs: string;
  /** The page where its token is made. */
  tokenPage?: string | undefined;
  /** What commands begin with there; default `/`. */
  commandMark?: string | undefined;
  ids: {
    /** Regular expressions of a person's and a chat's immutable id, from `^` to `$`. No id has white space. */
    user: string;
    chat: string;
    /** Completes "must be …": `a phone number such as 491701234567`. */
    description: string;
    /** Matches the ids of private chats; all others are groups. Unset: access depends on `place` of each message alone. */
    privateChat?: string | undefined;
    /** A private chat has the id of the person. */
    chatIsUser?: true | undefined;
  };
  capabilities: {
    /** Longest message, in `render.unit`. */
    maxLength: number;
    /** Answers grow by edits while they are written; needs `edit`. */
    edit?: boolean | undefined;
    delete?: boolean | undefined;
    buttons?: boolean | undefined;
    /** Answers have buttons of their own (Stop, Regenerate); needs `buttons`, `edit` and `removeButtons`. */
    answerButtons?: boolean | undefined;
    threads?: boolean | undefined;
    /** How long one `typing` call lasts, in milliseconds; unset: none. */
    typingMs?: number | undefined;
    /** Chats in which questions get reactions. */
    reactions?: readonly ('private' | 'group')[] | undefined;
    /** Largest file that `sendFile` accepts, in bytes; unset: no files. At most 64 MiB. */
    maxFileBytes?: number | undefined;
    /** Longest caption, in `render.unit`; default `maxLength`. */
    maxCaption?: number | undefined;
  };
  rates: {
    /** Calls per second over all chats. */
    callsPerSecond: number;
    /** Minimum milliseconds between two edits of a growing answer in one chat. */
    editIntervalMs: number;
    /** At most so many calls to one chat in that time, if the platform counts them so. */
    perChat?: { calls: number; ms: number } | undefined;
  };
  render: PluginRender;
  /**
   * Its platform posts to `<address of the gateway>/v1/channels/<name>/webhook`: every GET and POST there is
   * passed to `webhook` with its exact bytes.
   */
  webhook?: true | undefined;
  /** Shapes of its platform's secrets, found in log lines even if they are not configured. Regular expressions. */
  secretShapes?: readonly string[] | undefined;
}

/** How answers are written. The gateway renders; the plug-in gets the text in `OutboundPart.body`. */
export type PluginRender = {
  /** What `maxLength` counts; default `utf16`, the units of a JavaScript text. */
  unit?: 'utf16' | 'characters' | 'bytes' | undefined;
} & (
  | { kind: 'plain' }
  | {
      kind: 'marks';
      /** What stands around a text; unset: the text stands alone. */
      bold?: string | undefined;
      italic?: string | undefined;
      strike?: string | undefined;
      code?: string | undefined;
      /** Lines before and after a block of code; default none. */
      block?: string | undefined;
      /** Before each line of a quote; default `> `. */
      quote?: string | undefined;
      /** Before each entry of a list; default `• `. */
      bullet?: string | undefined;
      /** Default `text (url)`. */
      link?: 'text (url)' | '[text](url)' | '<url|text>' | undefined;
      /** Characters that would be read as markup, and what stands before each instead: `\`, or an invisible character. */
      escape?: { characters: string; with: string } | undefined;
    }
  /** A subset of HTML: p br strong em del code pre blockquote ul ol li a h1-h6 hr table. `body.plain` is its plain twin. */
  | { kind: 'html' }
);

/** A tool as the model is offered it, under the name `<plug-in>__<name>`. */
export interface PluginToolFacts {
  /** Lower-case letters, digits and `_`. */
  name: string;
  description: string;
  /** JSON Schema of an object. */
  parameters: Readonly<Record<string, unknown>>;
  /**
   * What a repeated call does: nothing (`pure`), the same with the same `callKey` (`idempotent`), or it may do it twice
   * (`unsafe`, the default). Every call waits for a person's approval, until a rule allows it.
   */
  effect?: 'pure' | 'idempotent' | 'unsafe' | undefined;
  /** Longest run in milliseconds, at most 600,000; default 60,000. */
  limitMs?: number | undefined;
}

/** A kind of model server: `"providers": {"lab": {"kind": "<plug-in>", "baseUrl": "…"}}`. Its `baseUrl` may be connected to. */
export interface PluginProviderFacts {
  /** One line for the documentation of the setting. */
  description?: string | undefined;
}

/** What the module exports. Each function is called once, when the process starts, before anything else. */
export interface PluginModule {
  channel?: (host: PluginChannelHost) => PluginChannel | Promise<PluginChannel>;
  /** By the names in the manifest. */
  tools?: (
    host: PluginHost,
  ) => Readonly<Record<string, PluginTool>> | Promise<Readonly<Record<string, PluginTool>>>;
  provider?: (host: PluginHost) => PluginProvider | Promise<PluginProvider>;
}

/** What the gateway gives to a plug-in. */
export interface PluginHost {
  readonly contract: PluginContract;
  /** Values of all settings that have one. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  /** Absolute path of its data folder; what it may do there is in `rights.files`. */
  readonly dataFolder: string;
  /** Writes to the gateway's log, without secrets; lines that come too fast are counted and dropped. */
  log(
    level: 'debug' | 'info' | 'warn' | 'error',
    event: string,
    fields?: Readonly<Record<string, unknown>>,
  ): void;
  /**
   * Small values that survive restarts and are the same on all nodes: offsets, ids. At most 1,000 keys of 200 characters
   * and values of 16 KiB. Rejects with `PluginFailure` while the database is away.
   */
  readonly store: {
    get(key: string): Promise<string | undefined>;
    /** `undefined` removes it. */
    set(key: string, value: string | undefined): Promise<void>;
  };
}

/** Of a plug-in with a channel. */
export interface PluginChannelHost extends PluginHost {
  /**
   * Passes a message to the gateway. When it resolves, the message is committed or refused for good: acknowledge it to
   * the platform only then. Rejects with `retryable` while the gateway cannot store it: acknowledge nothing. May be
   * called from `start` on, and inside `webhook`.
   */
  receive(message: PluginMessage): Promise<PluginReceipt>;
  /** The state of the connection. `detail` says what is wrong and how to fix it; it contains no secret. */
  health(state: 'starting' | 'up' | 'degraded' | 'dead', detail?: string): void;
}

/** Runs one call; what it throws is what the model reads as an error. */
export type PluginTool = (
  args: Readonly<Record<string, unknown>>,
  call: PluginToolCall,
) => Promise<string | { content: string; isError?: boolean | undefined }>;

/** Who calls a tool, and for how long. */
export interface PluginToolCall {
  signal: AbortSignal;
  /** The same for every attempt. */
  callKey: string;
  /** `telegram:42`, `token:<id>`, `system`. */
  userId: string;
  /** `channel:chatId[:threadId]`. */
  address: string;
  /** Shows one line of progress. */
  progress(text: string): void;
}

/** A model server, by its settings. */
export interface PluginServer {
  baseUrl: string;
  apiKey?: string | undefined;
}

/** The chats of model servers of this kind. Errors have a `code` of `PluginModelFailure`. */
export interface PluginProvider {
  models(server: PluginServer, signal: AbortSignal): Promise<readonly string[]>;
  capabilities(
    server: PluginServer,
    model: string,
    signal: AbortSignal,
  ): Promise<{ contextWindow: number; tools: boolean; thinking: boolean; vision: boolean }>;
  /** The answer in pieces; `done` is the last one. */
  streamChat(
    server: PluginServer,
    request: PluginChatRequest,
    signal: AbortSignal,
  ): AsyncIterable<PluginChatChunk>;
  embed?(
    server: PluginServer,
    request: { model: string; input: readonly string[] },
    signal: AbortSignal,
  ): Promise<{ vectors: number[][]; promptTokens: number }>;
}

/**
 * Throw this shape where a model server fails. Any other error counts as `bad_response`.
 * @public
 */
export interface PluginModelFailure extends Error {
  code:
    | 'context_overflow'
    | 'unavailable'
    | 'rate_limited'
    | 'quota_exceeded'
    | 'unauthorized'
    | 'unknown_model'
    | 'bad_request'
    | 'bad_response';
  retryAfterMs?: number | undefined;
}

/** A tool call of a model. */
export interface PluginModelCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** One message of a model's context. */
export type PluginChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string; images?: readonly { mimeType: string; base64: string }[] | undefined }
  | { role: 'assistant'; content: string; toolCalls?: readonly PluginModelCall[] | undefined }
  | { role: 'tool'; content: string; toolCallId: string; toolName: string };

/** A chat to answer. Options that the server does not know are left out. */
export interface PluginChatRequest {
  model: string;
  messages: readonly PluginChatMessage[];
  tools: readonly { name: string; description: string; parameters: Readonly<Record<string, unknown>> }[];
  contextWindow: number;
  temperature?: number | undefined;
  topP?: number | undefined;
  maxTokens?: number | undefined;
  stop?: readonly string[] | undefined;
  seed?: number | undefined;
  think?: boolean | undefined;
}

/** A piece of an answer. */
export type PluginChatChunk =
  | { type: 'text'; delta: string }
  | { type: 'thinking'; delta: string }
  | { type: 'tool_call'; call: PluginModelCall }
  | {
      type: 'done';
      finishReason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'refusal';
      usage: { promptTokens: number; completionTokens: number };
    };
