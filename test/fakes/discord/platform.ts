/** The data of the fake Discord: channels, messages, interactions and ids. */
import { randomBytes } from 'node:crypto';
import type { FakeButton } from './components.ts';
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
  /** 0 guild text, 1 DM, 11 public thread. */
  type: 0 | 1 | 11;
  guildId?: string;
  /** The parent channel of a thread, or the category of a channel. */
  parentId?: string;
  /** The person accepts no messages from the bot (50007). */
  closed?: boolean;
  /** The bot may not write here (50013). */
  forbidden?: boolean;
  archived?: boolean;
  /** The rules of its server (AutoMod) block messages that match. */
  forbids?: RegExp;
  /** The bot may not react here (50013). */
  noReactions?: boolean;
}

export interface FakePerson {
  id: string;
  name: string;
  bot?: boolean;
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
  /** Every text this message has shown, oldest first. */
  history: string[];
  /** When it showed each, by `performance.now()`. */
  historyAt: number[];
  replyTo?: FakeMessage;
  /** A message that is forwarded. */
  forwards?: FakeMessage;
  mentions: FakePerson[];
  webhookId?: string;
  /** Shown to this person only. */
  onlyFor?: string;
  /** The mentions in it that ping. */
  pings: string[];
  attachments: object[];
  /** What the bot has sent with it. */
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
  /** A press, of a button under this message. */
  under?: FakeMessage;
  message?: FakeMessage;
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
  readonly now: () => number;
  commands: object[] = [];
  commandWrites = 0;
  #count = 0n;
  readonly #oldEdits = new Map<string, number[]>();
  readonly #nonces = new Map<string, { message: FakeMessage; until: number }>();

  constructor(now: () => number) {
    this.now = now;
    this.bot = { id: this.newId(), name: 'Parley', bot: true };
    this.applicationId = this.bot.id;
    this.guildId = this.newId();
  }

  /** A snowflake: milliseconds since 2015 and a counter, so that ids sort by time. */
  newId(): string {
    this.#count += 1n;
    return (((BigInt(this.now()) - DISCORD_EPOCH) << 22n) | (this.#count & 0x3f_ffffn)).toString();
  }

  addChannel(type: 0 | 1, more: Partial<FakeChannel> = {}): FakeChannel {
    const guild = type === 1 ? {} : { guildId: this.guildId };
    return this.#keep({ id: this.newId(), type, ...guild, ...more });
  }

  /** A public thread in a channel. */
  addThread(parent: FakeChannel): FakeChannel {
    return this.#keep({ id: this.newId(), type: 11, guildId: this.guildId, parentId: parent.id });
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

  /** Throws when a message over an hour old was edited too often: how often is not documented. */
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

  addInteraction(channelId: string, user: FakePerson, under?: FakeMessage): FakeInteraction {
    const token = `aW50ZXJhY3Rpb246${randomBytes(60).toString('base64url')}`;
    const more = { replies: [], ...(under && { under }) };
    const interaction = { id: this.newId(), token, at: this.now(), channelId, user, ...more };
    this.interactions.set(token, interaction);
    return interaction;
  }
}

export function personJson(person: FakePerson): object {
  return {
    id: person.id,
    username: person.name.toLowerCase(),
    global_name: person.name,
    discriminator: '0',
    avatar: null,
    ...(person.bot === true ? { bot: true } : {}),
  };
}

/** A message as REST and the gateway show it. `guild_id` and `member` come only over the gateway. */
export function messageJson(message: FakeMessage): object {
  const { replyTo: reply, forwards } = message;
  return {
    id: message.id,
    channel_id: message.channelId,
    author: personJson(message.author),
    ...writtenJson(message),
    tts: false,
    mention_everyone: false,
    pinned: false,
    ...(message.webhookId === undefined ? {} : { webhook_id: message.webhookId }),
    ...(reply === undefined
      ? {}
      : {
          message_reference: { type: 0, channel_id: message.channelId, message_id: reply.id },
          referenced_message: messageJson(reply),
        }),
    ...(forwards === undefined
      ? {}
      : {
          message_reference: { type: 1, channel_id: forwards.channelId, message_id: forwards.id },
          message_snapshots: [{ message: writtenJson(forwards) }],
        }),
  };
}

/** What a message says: all that is shown of one that was forwarded, which does not tell who wrote it. */
function writtenJson(message: FakeMessage): object {
  return {
    content: message.content,
    timestamp: new Date(message.at).toISOString(),
    edited_timestamp: null,
    mentions: message.mentions.map(personJson),
    mention_roles: [],
    attachments: message.attachments,
    embeds: [],
    type: message.type,
    flags: message.flags,
    ...message.fields,
  };
}

/** A channel's description, as Discord gives it. */
export function channelJson({ id, type, guildId, parentId }: FakeChannel): object {
  return { id, type, ...(guildId === undefined ? {} : { guild_id: guildId, parent_id: parentId ?? null }) };
}
