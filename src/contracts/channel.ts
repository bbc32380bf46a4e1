/** Channels: adapters to one network each, and the manifests that describe them. */
import type { Root } from 'mdast';
import { z } from 'zod';
import { accessRules, isId } from './access.ts';
import type { ChannelAccess, ChannelIds } from './access.ts';
import type { GatewayApi } from './gateway-api.ts';
import type { ChannelHealth } from './gateway-api.ts';
import type { Log, SecretShape } from './log.ts';
import type { Button, Place, SentMessage } from './message.ts';
import type { Receive } from './receive.ts';

/** What a channel can do. Declared, never guessed; the contract suite checks that it is implemented. */
export interface Capabilities {
  edit: boolean;
  draft: boolean;
  typing: boolean;
  reactions: boolean;
  buttons: boolean;
  media: boolean;
  threads: boolean;
  /** Longest message, in the units of `Rendered.length`. */
  maxLength: number;
  /** Least time between two edits in one chat, in milliseconds; the network determines it. */
  editIntervalMs(chatId: string): number;
  /** How long one `typing` call lasts, in milliseconds; 0 without typing. */
  typingMs: number;
}

/** A document in a channel's own markup. */
export interface Rendered {
  /** In the channel's markup, ready to send. */
  text: string;
  /** The same text without markup, for when the platform cannot parse `text`. */
  plain: string;
  /** What the platform counts against `maxLength` for `text` (Telegram: UTF-16 units after entity parsing). */
  length: number;
}

/** One message to put on screen: a piece of an answer that fits. */
export interface OutboundPart extends Place {
  body: Rendered;
  /** Send `body.plain` without markup. */
  plain?: boolean;
  replyTo?: string | undefined;
  buttons: Button[];
  /** The same for every attempt to send this part: platforms that support it use it to send only once. */
  nonce: string;
}

/** Who a bot token belongs to; `id` is immutable and not secret. */
export interface ChannelIdentity {
  id: string;
  name: string;
}

/** An adapter to one network. Methods throw only `ChannelError`. */
export interface Channel {
  readonly name: string;
  /** Where it listens, once it does; absent for a channel that opens no port. */
  readonly url?: string | undefined;
  readonly capabilities: Capabilities;
  /** Who the token belongs to. A channel that has it receives on one node at a time, the owner of the lane `poll:<name>:<id>`. */
  identify?(signal: AbortSignal): Promise<ChannelIdentity>;
  /** Begins to receive; resolves once receiving has begun. Supervises its own reconnects until `stop`. */
  start(receive: Receive): Promise<void>;
  /** Ends receiving and closes what `start` opened; twice is fine. Never throws. */
  stop(): Promise<void>;
  /** Puts a new message on screen. Works without `start`: any node may send. */
  send(part: OutboundPart): Promise<SentMessage>;
  /** Replaces a message's text; the same text twice is no error. Present iff `capabilities.edit`. */
  edit?(sent: SentMessage, part: OutboundPart): Promise<void>;
  /** Pure: the document in this channel's markup. */
  render(doc: Root): Rendered;
  /** Shows "typing…" for `capabilities.typingMs`. Present iff `capabilities.typing`. */
  typing?(place: Place): Promise<void>;
  health(): ChannelHealth;
}

/** Dependencies of every channel. */
export interface ChannelDeps {
  log: Log;
  gateway: GatewayApi;
}

/** Longest setting of an edit interval, in milliseconds: with a longer one a reply would not visibly grow. */
export const MAX_EDIT_INTERVAL_MS = 60_000;

/**
 * A network as the gateway knows it before any of its code is loaded. `channels/<name>/manifest.ts` exports one as
 * `manifest` and imports no vendor's package. Only `create` throws.
 */
export interface ChannelManifest<
  Env extends z.ZodObject = z.ZodObject,
  Settings extends z.ZodObject = z.ZodObject,
> {
  /** First part of the channel's addresses: a lower-case letter, then letters and digits. */
  readonly name: string;
  /** The network's name as people write it. */
  readonly label: string;
  /** The variable that switches the channel on, or `nothing`. */
  readonly needs: string;
  /** Its environment variables, all optional or with a default: the channel may be off. */
  readonly env: Env;
  /** `channels.<name>` in `config.json`; every field has a default. */
  readonly settings: Settings;
  /** Absent for a network without user ids of its own, whose callers use the gateway's tokens. */
  readonly ids?: ChannelIds;
  /** Shapes of this network's secrets, for the log's redactor: it also finds those that are not configured. */
  readonly secretShapes: readonly SecretShape[];
  isOn(env: z.output<Env>): boolean;
  /** The values in the environment that must not appear in the log. */
  secrets(env: z.output<Env>): readonly (string | undefined)[];
  /** Loads the channel's code and makes it; nothing is opened before its `start`. Throws `GatewayError`. */
  create(
    configured: { env: z.output<Env>; settings: z.output<Settings> },
    deps: ChannelDeps,
  ): Promise<Channel>;
}

/** Gives the manifest back unchanged; it infers the types of `env` and `settings` for the manifest's methods. */
export function defineChannel<Env extends z.ZodObject, Settings extends z.ZodObject>(
  manifest: ChannelManifest<Env, Settings>,
): ChannelManifest<Env, Settings> {
  return manifest;
}

/** A channel of the list with its configuration from the environment and the file. */
export interface ConfiguredChannel extends Pick<
  ChannelManifest,
  'name' | 'label' | 'needs' | 'ids' | 'secretShapes'
> {
  isOn: boolean;
  /** Undefined for a channel without user ids of its own. */
  access: ChannelAccess | undefined;
  secrets: readonly string[];
  /** Loads the channel's code and makes it. Throws `GatewayError`. */
  create: (deps: ChannelDeps) => Promise<Channel>;
}

/** Joins a manifest with the environment, checked before (throws `ZodError` otherwise), and with the file as it was read. */
export function configureChannel(
  manifest: ChannelManifest,
  variables: Record<string, unknown>,
  file: {
    access: Record<string, unknown> & { owners: Record<string, string[]> };
    settings: Record<string, Record<string, unknown>>;
  },
): ConfiguredChannel {
  const { name, label, needs, ids, secretShapes } = manifest;
  const env = manifest.env.parse(variables);
  const settings = file.settings[name] ?? {};
  return {
    name,
    label,
    needs,
    ids,
    secretShapes,
    isOn: manifest.isOn(env),
    access: ids && {
      ...accessRules(ids).parse(file.access[name]),
      owners: file.access.owners[name] ?? [],
      privacyOf: ids.privacyOf,
    },
    secrets: manifest.secrets(env).flatMap((secret) => secret || []),
    create: (deps) => manifest.create({ env, settings }, deps),
  };
}

/** Names with another meaning in addresses, in user ids, or beside the channels in `access`. */
const RESERVED_NAMES = ['system', 'token', 'owners'];

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isPattern = (value: unknown): boolean => value instanceof RegExp;

/** Checks of a manifest's fields, each with what to write: types are not checked when the gateway runs. */
const FIELDS: Record<keyof ChannelManifest, [isRight: (value: unknown) => boolean, write: string]> = {
  name: [isText, "a text such as 'matrix', the first part of the channel's addresses"],
  label: [isText, "the network's name for people, such as 'Matrix'"],
  needs: [isText, "the variable that switches the channel on, such as 'MATRIX_TOKEN', or 'nothing'"],
  env: [(value) => value instanceof z.ZodObject, 'z.object({ … }) of its environment variables'],
  settings: [isStrictObject, 'z.strictObject({ … }) of its settings: other fields must be refused'],
  ids: [
    (value) => value === undefined || hasIds(value),
    '{ userId: /^…$/, chatId: /^…$/, description: "an id such as …" }, or no field',
  ],
  secretShapes: [
    (value) => Array.isArray(value) && value.every(isSecretShape),
    'a list of { pattern: /…/, replacement: "…" }, or [] for none',
  ],
  isOn: [isFunction, 'a function of `env` that is true when the channel is switched on'],
  secrets: [isFunction, 'a function of `env` that gives the secret values'],
  create: [isFunction, 'a function that loads index.ts and makes the channel'],
};

/** Fields of manifests that are missing or of a wrong type, one sentence each; nothing else may read such a list. */
export function manifestFieldErrors(manifests: readonly unknown[]): string[] {
  return manifests.flatMap((manifest, index) => {
    const fields: Record<string, unknown> = { ...(typeof manifest === 'object' ? manifest : {}) };
    const channel = typeof fields.name === 'string' ? fields.name : `number ${index + 1} of the list`;
    return Object.entries(FIELDS)
      .filter(([field, [isRight]]) => !isRight(fields[field]))
      .map(([field, [, write]]) => {
        const problem = fields[field] === undefined ? 'is missing' : 'has the wrong type';
        return `channel ${channel}: ${field} ${problem}: write ${write}`;
      });
  });
}

function isStrictObject(schema: unknown): boolean {
  if (!(schema instanceof z.ZodObject)) return false;
  const issues = schema.safeParse({ 'no such field': 1 }).error?.issues ?? [];
  return issues.some(({ code }) => code === 'unrecognized_keys');
}

function hasIds(value: unknown): boolean {
  const { userId, chatId, description }: Record<string, unknown> = { ...Object(value) };
  return isPattern(userId) && isPattern(chatId) && isText(description);
}

function isSecretShape(value: unknown): boolean {
  const { pattern, replacement }: Record<string, unknown> = { ...Object(value) };
  return isPattern(pattern) && typeof replacement === 'string';
}

/**
 * Everything else that is wrong with a list of manifests, one sentence each; empty when it can be used. `taken` are the
 * environment variables of the gateway itself.
 */
export function manifestErrors(manifests: readonly ChannelManifest[], taken: readonly string[]): string[] {
  const owners = new Map(taken.map((variable) => [variable, 'the gateway itself']));
  return manifests.flatMap((manifest, index) => {
    const errors = ownErrors(manifest);
    if (manifests.slice(0, index).some(({ name }) => name === manifest.name))
      errors.push('its name is taken by another channel of the list: choose a name of its own');
    for (const variable of Object.keys(manifest.env.shape)) {
      const owner = owners.get(variable);
      if (owner !== undefined) errors.push(`env: ${variable} belongs to ${owner} already: rename it`);
      else owners.set(variable, `the channel ${manifest.name}`);
    }
    return errors.map((error) => `channel ${manifest.name}: ${error}`);
  });
}

function ownErrors({ name, env, settings, ids }: ChannelManifest): string[] {
  const errors: string[] = [];
  if (!/^[a-z][a-z0-9]{0,31}$/.test(name) || RESERVED_NAMES.includes(name))
    errors.push(
      `its name must be a lower-case letter, then letters and digits, and none of ${RESERVED_NAMES.join(', ')}`,
    );
  for (const variable of requiredFields(env))
    errors.push(`env: ${variable} must be optional or have a default, because the channel may be off`);
  for (const field of requiredFields(settings)) errors.push(`settings: ${field} must have a default`);
  for (const field of ['userId', 'chatId'] as const) {
    const problem = ids === undefined ? undefined : patternProblem(ids[field]);
    if (problem !== undefined) errors.push(`ids.${field} ${problem}`);
  }
  return errors;
}

/** Fields of a schema that cannot be left out. */
function requiredFields(schema: z.ZodObject): string[] {
  return schema.safeParse({}).error?.issues.map(({ path }) => path.join('.')) ?? [];
}

/** Reason why a pattern cannot be used to recognise ids; undefined when it can. */
function patternProblem({ source, flags }: RegExp): string | undefined {
  if (!source.startsWith('^') || !source.endsWith('$'))
    return 'must match the whole id: begin it with ^ and end it with $';
  if (/[gym]/.test(flags)) return 'must not have the flags g, m or y';
  if (isId('', { source, flags })) return 'must not match an empty text';
  return undefined;
}
