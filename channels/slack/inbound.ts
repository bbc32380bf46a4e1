/** Converts Slack's events to the gateway's messages. Pure. */
import { kindOfType, toAct } from '../../src/protocol/channel-parts.ts';
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { CommandListing } from '../../src/protocol/command.ts';
import {
  boundQuote,
  type InboundMessage,
  type MembershipChange,
  type Place,
  type Quoted,
} from '../../src/protocol/message.ts';
import { cardText } from './cards.ts';
import {
  privacyOf,
  type RawCommand,
  type RawFile,
  type RawMembership,
  type RawMessage,
  type RawPress,
  type RawReaction,
  timeOf,
} from './events.ts';
import type { Media } from '../../src/protocol/media.ts';
import { oneLine } from '../../src/lib/text.ts';

/** Files that are only a line in the message: deleted, too old for the workspace's plan, or stored elsewhere. */
const WITHOUT_BYTES = new Set(['tombstone', 'hidden_by_limit', 'external']);
const ENTITY = /<([@#!]?)([^<>|]{1,3000})(?:\|([^<>]{0,3000}))?>/g;

/** Who the bot is. */
export interface Self {
  teamId: string;
  userId: string;
  /** The author of its messages if Slack names no user. */
  botId: string;
  name: string;
}

/** Known names of people, by id. */
export type Names = ReadonlyMap<string, string>;

/** Subtypes of messages that people write; all others are notices from Slack ("Message subtypes"). */
const WRITTEN = new Set([undefined, 'file_share', 'thread_broadcast', 'bot_message', 'me_message']);
/** Reactions with which a person stops an answer. */
const STOP_REACTIONS = new Set(['octagonal_sign', 'black_square_for_stop', '-1', 'thumbsdown']);

/** Ids of the people whose names a message needs. */
export function peopleIn(message: RawMessage): string[] {
  return [...new Set([...(message.user === undefined ? [] : [message.user]), ...mentionedIn(message.text)])];
}

/** A message that a person or another app wrote; undefined for messages of the bot itself and of Slack. */
export function toInbound(message: RawMessage, self: Self, names: Names): InboundMessage | undefined {
  return isOwn(message, self) ? undefined : read(message, self, names);
}

/** A message of a thread; undefined for those of Slack. */
export function toEarlier(message: RawMessage, self: Self, names: Names): EarlierMessage | undefined {
  const inbound = read(message, self, names);
  return inbound && { ...inbound, id: message.ts, isOwn: isOwn(message, self) };
}

/** Undefined for messages of Slack. */
function read(message: RawMessage, self: Self, names: Names): InboundMessage | undefined {
  const { channel, ts, user, bot_id: bot } = message;
  const senderId = user ?? bot ?? undefined;
  if (senderId === undefined || !WRITTEN.has(message.subtype)) return undefined;
  const nameOf = (id: string): string | undefined => names.get(id);
  const text = readText(withoutName(textOf(message), self.userId), nameOf);
  const { shared, quoted } = sharedIn(message, nameOf, text === '');
  const place = privacyOf(channel);
  const content = [text, ...shared.map((one) => one.text), textOfFiles(message.files ?? [])].filter(Boolean);
  return {
    id: `${channel}:${ts}`,
    ...placeOf(message),
    senderId,
    ...(typeof bot === 'string' && { fromBot: true }),
    senderName: nameOf(senderId) ?? message.username,
    content: content.join('\n'),
    timestamp: timeOf(ts),
    media: mediaOf(message.files ?? []),
    messageId: ts,
    quoted,
    ...(shared.length > 0 && { forwarded: true, forwardedFrom: shared[0]?.author }),
    place,
    mentioned: place === 'private' || isMeant(message, self),
  };
}

/** Its text; that of an app may be only in its cards. */
function textOf({ text, bot_id: bot, attachments, blocks }: RawMessage): string {
  if (typeof bot !== 'string') return text;
  const cards = (attachments ?? []).filter((one) => !isShared(one));
  return [text, cardText(cards, text === '' ? blocks : undefined)].filter(Boolean).join('\n');
}

/** The edit of a message by its author. */
export function toEdit(message: RawMessage, self: Self, names: Names): InboundMessage | undefined {
  const inbound = toInbound(message, self, names);
  if (inbound === undefined) return undefined;
  return { ...inbound, id: `${inbound.id}:${message.edited?.ts ?? ''}`, isEdit: true };
}

/** A reaction that stops an answer; undefined for all others. */
export function toStop({ user, reaction, item, event_ts: at }: RawReaction): InboundMessage | undefined {
  const [name = ''] = reaction.split('::');
  if (!STOP_REACTIONS.has(name)) return undefined;
  const id = `${item.channel}:${item.ts}:reaction:${at}`;
  return { ...actOf(id, item.channel, user, timeOf(at)), stops: item.ts };
}

/** What a person does other than writing: a message without text. `timestamp` is epoch milliseconds. */
export function actOf(id: string, chatId: string, senderId: string, timestamp: number): InboundMessage {
  return toAct({ id, channel: 'slack', chatId, senderId, timestamp, place: privacyOf(chatId) });
}

/**
 * A slash command as a message. `/parley stop` is the command `/stop`; a text that does not begin with a command's
 * name is a question, and so is "new ideas for my garden": a command without arguments must stand alone, unless it is
 * written with its slash.
 */
export function fromCommand(
  raw: RawCommand,
  commands: readonly CommandListing[],
  now: number,
): InboundMessage {
  const text = readText(raw.text.trim(), () => undefined);
  const [word = ''] = text.split(/\s/, 1);
  const name = word.replace(/^\//, '').toLowerCase();
  const command = commands.find((one) => one.name === name);
  const takesAll = word.startsWith('/') || word === text || command?.argument !== undefined;
  const question = text === '' ? '/help' : text;
  return {
    ...actOf(`command:${raw.trigger_id}`, raw.channel_id, raw.user_id, now),
    senderName: raw.user_name,
    content: command !== undefined && takesAll ? `/${name}${text.slice(word.length)}` : question,
    answeredInPlace: true,
  };
}

/** A pressed button as a message without text. */
export function fromPress(raw: RawPress): InboundMessage | undefined {
  const { user, trigger_id: id, container } = raw;
  const [action] = raw.actions;
  if (action?.type !== 'button' || action.value === undefined) return undefined;
  const { channel_id: chatId, message_ts: ts, thread_ts: thread } = container;
  return {
    ...actOf(`press:${id}`, chatId, user.id, timeOf(action.action_ts)),
    threadId: thread === ts ? undefined : thread,
    senderName: user.name,
    button: action.value,
    forms: true,
    buttonUnder: { id: ts },
  };
}

/** The bot joined a channel or left it; undefined for everyone else. */
export function toMembership(raw: RawMembership, self: Self): MembershipChange | undefined {
  const hasJoined = raw.type === 'member_joined_channel';
  if (hasJoined && raw.user !== self.userId) return undefined;
  return {
    id: `${raw.channel}:membership:${raw.event_ts}`,
    channel: 'slack',
    chatId: raw.channel,
    place: privacyOf(raw.channel),
    change: hasJoined ? 'joined' : 'left',
    byId: raw.inviter ?? raw.actor_id ?? '',
    readsAll: true,
  };
}

function isOwn({ user, bot_id: bot }: RawMessage, self: Self): boolean {
  return user === self.userId || (typeof bot === 'string' && bot === self.botId);
}

/** The message names the bot, or answers in a thread that the bot started. */
function isMeant({ text, parent_user_id: parent }: RawMessage, { userId }: Self): boolean {
  return mentionedIn(text).includes(userId) || parent === userId;
}

/** In channels every question gets its own thread, in which it is answered; a thread is a conversation. */
function placeOf({ channel, ts, thread_ts: thread }: RawMessage): Place {
  const place = { channel: 'slack', chatId: channel };
  if (privacyOf(channel) === 'group') return { ...place, threadId: thread ?? ts };
  return thread === undefined || thread === ts ? place : { ...place, threadId: thread };
}

/** Shared messages of others: next to the sender's own text they are quoted, alone they are forwarded. */
function sharedIn(
  { attachments, user }: RawMessage,
  nameOf: (id: string) => string | undefined,
  isAlone: boolean,
): { shared: { text: string; author: string | undefined }[]; quoted?: Quoted | undefined } {
  const all = (attachments ?? [])
    .filter(isShared)
    .map((one) => ({
      text: readText(one.text ?? one.fallback ?? '', nameOf),
      author: one.author_name,
      authorId: one.author_id,
    }))
    .filter(({ text }) => text !== '');
  const [first] = all;
  if (isAlone || first === undefined) return { shared: all };
  const by = first.authorId !== undefined && first.authorId === user ? 'sender' : 'other';
  const author = by === 'other' ? first.author : undefined;
  return { shared: [], quoted: boundQuote({ text: first.text, by, media: [], author }) };
}

function isShared(one: NonNullable<RawMessage['attachments']>[number]): boolean {
  return one.is_share === true || one.is_msg_unfurl === true;
}

function mentionedIn(text: string): string[] {
  return [...text.matchAll(/<@([UW][0-9A-Z]{2,30})(?:\|[^<>]*)?>/g)].flatMap(([, id]) => id ?? []);
}

/** The text as people see it; `nameOf` returns the name of a person if it is known. */
function readText(text: string, nameOf: (id: string) => string | undefined): string {
  const readable = text.replaceAll(
    ENTITY,
    (whole, marker: string, target: string, label: string | undefined) => {
      switch (marker) {
        case '@':
          return `@${nameOf(target) ?? label ?? target}`;
        case '#':
          return `#${label === undefined || label === '' ? target : label}`;
        case '!':
          return commandOf(target, label) ?? whole;
        default:
          return linkOf(target, label);
      }
    },
  );
  return readable.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** `<!here>`, `<!subteam^S123|@team>`, `<!date^…|fallback>`. */
function commandOf(target: string, label: string | undefined): string | undefined {
  const [word = ''] = target.split('^');
  if (word === 'here' || word === 'channel' || word === 'everyone') return `@${word}`;
  return label;
}

function linkOf(url: string, label: string | undefined): string {
  const address = url.replace(/^mailto:|^tel:/, '');
  return label === undefined || label === '' || label === address || url.endsWith(`//${label}`)
    ? address
    : `${label} (${address})`;
}

function withoutName(text: string, userId: string): string {
  return text.replace(new RegExp(String.raw`^\s*<@${userId}(?:\|[^<>]*)?>[\s,:]*`), '');
}

function mediaOf(files: readonly RawFile[]): Media[] {
  return files.filter(hasBytes).map((one) => {
    const { mimetype: mimeType, name, size, duration_ms: ms } = one;
    const kind = one.subtype === 'slack_audio' ? 'voice' : kindOfType(mimeType);
    return {
      kind,
      url: referenceOf(one),
      // Slack chooses the names of recordings, not the sender.
      name: kind === 'voice' ? undefined : (name ?? undefined),
      mimeType: mimeType ?? undefined,
      bytes: size,
      seconds: ms === undefined ? undefined : Math.round(ms / 1_000),
    };
  });
}

/** All others, as text. */
function textOfFiles(files: readonly RawFile[]): string {
  return files
    .filter((one) => !hasBytes(one))
    .map(({ title, name, external_url: url }) => {
      const label = oneLine(title ?? name ?? '');
      return `[${['file', label, url].filter(Boolean).join(' ')}${url === undefined ? ', which Slack no longer shows' : ''}]`;
    })
    .join('\n');
}

/** What `Media.url` contains for a file: its address, which needs the bot's token, and its id. */
export function readReference(reference: string): { url: URL | undefined; fileId: string } | undefined {
  const url = URL.parse(reference);
  if (url === null) return undefined;
  const fileId = url.hash.slice(1);
  if (!/^F[0-9A-Z]{2,30}$/.test(fileId)) return undefined;
  url.hash = '';
  return { url: url.protocol === 'slack:' ? undefined : url, fileId };
}

/** For files of other workspaces Slack gives only the id (`file_access: check_file_info`). */
function referenceOf({ id, url_private_download: download, url_private: url }: RawFile): string {
  return `${download ?? url ?? 'slack:file'}#${id}`;
}

function hasBytes({ mode = '' }: RawFile): boolean {
  return !WITHOUT_BYTES.has(mode);
}
