/** The data of the fake Discord: channels, messages, interactions and ids. */
import { randomBytes } from 'node:crypto';
import { FakeEndpoint } from './interactions/endpoint.ts';
import type { FakeButton, FakeSelect } from './interactions/components.ts';
import type { FakeModal } from './interactions/modals.ts';
import type { FakeFile } from './uploads.ts';

/** A refusal of Discord's REST API: HTTP status, JSON error code, text, and the field errors of 50035. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly errors: object | undefined;
  /** With status 429. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, code: number, message: string, errors?: object, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface FakeChannel {
  id: string;
  /** 0 guild text, 1 DM, 3 group DM of others, 11 public thread, 15 forum. */
  type: 0 | 1 | 3 | 11 | 15;
  /** The bot is not a member: it sees nothing here (50001); users who have installed it for themselves reach it. */
  isGuest?: boolean;
  guildId?: string;
  /** The parent channel of a thread, or the category of a channel. */
  parentId?: string;
  /** For a thread: who opened it, its name, and when the bot gave it one. */
  ownerId?: string;
  name?: string;
  namedAt?: number[];
  /** The bot may open no threads here (50013). */
  noThreads?: boolean;
  /** The person accepts no messages from the bot (50007). */
  closed?: boolean;
  /** The bot may not write here (50013). */
  forbidden?: boolean;
  archived?: boolean;
  /** The rules of its server (AutoMod) block messages that match. */
  forbids?: RegExp;
  /** The bot may not see what was said here (50001). */
  unreadable?: boolean;
  /** The bot may not react here (50013). */
  noReactions?: boolean;
}

export interface FakePerson {
  id: string;
  name: string;
  bot?: boolean;
  /** Ids of their roles in the server. */
  roles?: string[];
  /** The language of their app; default: `en-GB`. */
  locale?: string;
}

export interface FakeMessage {
  id: string;
  channelId: string;
  author: FakePerson;
  content: string;
  at: number;
  type: number;
  flags: number;
  buttons: FakeButton[];
  /** The menu under it. */
  select?: FakeSelect | undefined;
  /** Every text this message has shown, oldest first. */
  history: string[];
  /** When it showed each, by `performance.now()`. */
  historyAt: number[];
  replyTo?: FakeMessage;
  /** A message that is forwarded. */
  forwards?: FakeMessage;
  mentions: FakePerson[];
  /** Ids of the roles it names. */
  mentionRoles: string[];
  editedAt?: number;
  webhookId?: string;
  /** Shown to this person only. */
  onlyFor?: string;
  /** The mentions in it that ping. */
  pings: string[];
  attachments: object[];
  /** What the bot sent with it. */
  files?: FakeFile[];
  fields?: object;
  /** The bot's reactions. */
  reactions: string[];
}

export interface FakeInteraction {
  id: string;
  token: string;
  at: number;
  channelId: string;
  user: FakePerson;
  /** A press of a button under this message. */
  under?: FakeMessage;
  message?: FakeMessage;
  /** Its kind, as in its event. */
  type: number;
  /** The form that was shown. */
  modal?: FakeModal;
  /** What was suggested. */
  choices?: string[];
  /** Something was answered. */
  answered?: boolean;
  /** The ids of the follow-up messages. */
  replies: string[];
}

const DISCORD_EPOCH = 1_420_070_400_000n;
const NONCE_WINDOW_MS = 5 * 60_000;
const OLD_MESSAGE_MS = 60 * 60_000;
const OLD_EDITS = 1;
const TOO_MANY_OLD_EDITS = 'Maximum number of edits to messages older than 1 hour reached. Try again later';
const OLD_EDIT_WAIT_MS = 900_000;
export const FLAG_SUPPRESS_EMBEDS = 1 << 2;
export const FLAG_EPHEMERAL = 1 << 6;
export const FLAG_LOADING = 1 << 7;
export const FLAG_HAS_SNAPSHOT = 1 << 14;

export class DiscordPlatform {
  readonly channels = new Map<string, FakeChannel>();
  readonly messages = new Map<string, FakeMessage[]>();
  readonly interactions = new Map<string, FakeInteraction>();
  readonly bot: FakePerson;
  readonly applicationId: string;
  readonly guildId: string;
  /** The role that Discord has created for the bot in the server. */
  readonly botRoleId: string;
  /** Who owns the server; the roles that people have created there, with a set of permissions; and its members. */
  ownerId: string;
  readonly roles: { id: string; name: string; permissions: string }[] = [];
  readonly members = new Map<string, FakePerson>();
  readonly now: () => number;
  /** Where interactions are posted, once that is set. */
  readonly endpoint: FakeEndpoint;
  /** Who may install the app: servers (0), users (1). */
  installations: number[] = [0, 1];
  commands: object[] = [];
  commandWrites = 0;
  #count = 0n;
  readonly #oldEdits = new Map<string, number[]>();
  readonly #nonces = new Map<string, { message: FakeMessage; until: number }>();

  constructor(now: () => number) {
    this.now = now;
    this.endpoint = new FakeEndpoint(now);
    this.bot = { id: this.newId(), name: 'Parley', bot: true };
    this.applicationId = this.bot.id;
    this.guildId = this.newId();
    this.botRoleId = this.newId();
    this.ownerId = this.newId();
  }

  /** A snowflake: milliseconds since 2015 and a counter, so that ids sort by time. */
  newId(): string {
    this.#count += 1n;
    return (((BigInt(this.now()) - DISCORD_EPOCH) << 22n) | (this.#count & 0x3f_ffffn)).toString();
  }

  addChannel(type: 0 | 1 | 3 | 15, more: Partial<FakeChannel> = {}): FakeChannel {
    const guild = type === 1 || type === 3 ? {} : { guildId: this.guildId };
    return this.#keep({ id: this.newId(), type, ...guild, ...more });
  }

  /** The id of another server, whose events arrive over this shard. */
  newGuildId(shard: number, count: number): string {
    const at = (BigInt(this.newId()) >> 22n) / BigInt(count);
    return ((at * BigInt(count) + BigInt(shard)) << 22n).toString();
  }

  /** A role that people have created in the server. */
  addRole(name: string, permissions = 0n): string {
    const id = this.newId();
    this.roles.push({ id, name, permissions: String(permissions) });
    return id;
  }

  /** A public thread in a channel. */
  addThread(parent: FakeChannel, more: Partial<FakeChannel> = {}): FakeChannel {
    return this.#keep({ id: this.newId(), type: 11, guildId: this.guildId, parentId: parent.id, ...more });
  }

  #keep(channel: FakeChannel): FakeChannel {
    this.channels.set(channel.id, channel);
    this.messages.set(channel.id, []);
    return channel;
  }

  channel(id: string): FakeChannel {
    const channel = this.channels.get(id);
    if (channel === undefined) throw new Refusal(404, 10_003, 'Unknown Channel');
    return channel;
  }

  /** The channel, if the bot may write in it now. */
  writable(id: string): FakeChannel {
    const channel = this.channel(id);
    if (channel.isGuest === true) throw new Refusal(403, 50_001, 'Missing Access');
    if (channel.closed === true) throw new Refusal(403, 50_007, 'Cannot send messages to this user');
    if (channel.forbidden === true) throw new Refusal(403, 50_013, 'Missing Permissions');
    if (channel.archived === true) throw new Refusal(400, 50_083, 'Thread is archived');
    return channel;
  }

  /** The channel, if the bot may put this text in it now. */
  accepts(id: string, content: string): FakeChannel {
    this.permits(id, content);
    return this.writable(id);
  }

  /** Throws when the rules of the channel's server forbid a text. */
  permits(id: string, content: string): void {
    if (this.channel(id).forbids?.test(content) === true)
      throw new Refusal(400, 200_000, 'Message was blocked by automatic moderation');
  }

  /** Throws if a message over an hour old was edited too often: the exact limit is not documented. */
  allowEdit(message: FakeMessage): void {
    if (this.now() - message.at <= OLD_MESSAGE_MS) return;
    const edits = (this.#oldEdits.get(message.id) ?? []).filter((at) => this.now() - at < OLD_EDIT_WAIT_MS);
    if (edits.length >= OLD_EDITS)
      throw new Refusal(429, 30_046, TOO_MANY_OLD_EDITS, undefined, OLD_EDIT_WAIT_MS);
    this.#oldEdits.set(message.id, [...edits, this.now()]);
  }

  message(channelId: string, id: string): FakeMessage {
    const found = this.messages.get(channelId)?.find((message) => message.id === id);
    if (found === undefined) throw new Refusal(404, 10_008, 'Unknown Message');
    return found;
  }

  add(channelId: string, author: FakePerson, content: string, more: Partial<FakeMessage> = {}): FakeMessage {
    const message: FakeMessage = {
      id: this.newId(),
      channelId,
      author,
      content,
      at: this.now(),
      type: more.replyTo === undefined ? 0 : 19,
      flags: 0,
      buttons: [],
      history: [content],
      historyAt: [performance.now()],
      mentions: [],
      mentionRoles: [],
      pings: [],
      attachments: [],
      reactions: [],
      ...more,
    };
    this.messages.get(channelId)?.push(message);
    return message;
  }

  change(message: FakeMessage, content: string): void {
    message.content = content;
    message.flags &= ~FLAG_LOADING;
    message.history.push(content);
    message.historyAt.push(performance.now());
  }

  remove(message: FakeMessage): void {
    const kept = this.messages.get(message.channelId)?.filter((other) => other !== message);
    this.messages.set(message.channelId, kept ?? []);
  }

  isRemoved(message: FakeMessage): boolean {
    return this.messages.get(message.channelId)?.includes(message) !== true;
  }

  /** The message an earlier create with this nonce made, while the platform remembers it. */
  byNonce(channelId: string, nonce: string): FakeMessage | undefined {
    const known = this.#nonces.get(`${channelId} ${nonce}`);
    return known === undefined || known.until < this.now() ? undefined : known.message;
  }

  rememberNonce(channelId: string, nonce: string, message: FakeMessage): void {
    this.#nonces.set(`${channelId} ${nonce}`, { message, until: this.now() + NONCE_WINDOW_MS });
  }

  addInteraction(channelId: string, user: FakePerson, type: number, under?: FakeMessage): FakeInteraction {
    const token = `aW50ZXJhY3Rpb246${randomBytes(60).toString('base64url')}`;
    const more = { type, replies: [], ...(under && { under }) };
    const interaction = { id: this.newId(), token, at: this.now(), channelId, user, ...more };
    this.interactions.set(token, interaction);
    return interaction;
  }
}
