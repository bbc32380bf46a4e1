/** Converts Slack's events to the gateway's messages. Pure. */
import type { CommandListing } from '../../src/protocol/command.ts';
import {
  boundQuote,
  type InboundMessage,
  type MembershipChange,
  type Place,
  type Quoted,
} from '../../src/protocol/message.ts';
import type { RawCommand, RawMembership, RawMessage, RawPress, RawReaction } from './events.ts';
import { mediaOf, textOfFiles } from './files/media.ts';
import { privacyOf, timeOf } from './ids.ts';

const ENTITY = /<([@#!]?)([^<>|]{1,3000})(?:\|([^<>]{0,3000}))?>/g;

/** Who the bot is. */
export interface Self {
  teamId: string;
  userId: string;
  /** The author of its messages if Slack names no user. */
  botId: string;
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

/** A message that a person wrote; undefined for messages of the bot itself and of Slack. */
export function toInbound(message: RawMessage, self: Self, names: Names): InboundMessage | undefined {
  const { channel, ts, user, bot_id: bot } = message;
  const senderId = user ?? bot ?? undefined;
  if (senderId === undefined || isOwn(message, self) || !WRITTEN.has(message.subtype)) return undefined;
  const nameOf = (id: string): string | undefined => names.get(id);
  const text = readText(withoutName(message.text, self.userId), nameOf);
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
    ...(quoted && { quoted }),
    ...(shared.length > 0 && { forwarded: true, forwardedFrom: shared[0]?.author }),
    place,
    mentioned: place === 'private' || isMeant(message, self),
  };
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
  return {
    id: `${item.channel}:${item.ts}:reaction:${at}`,
    channel: 'slack',
    chatId: item.channel,
    senderId: user,
    content: '',
    timestamp: timeOf(at),
    media: [],
    stops: item.ts,
    place: privacyOf(item.channel),
    mentioned: true,
  };
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
    id: `command:${raw.trigger_id}`,
    channel: 'slack',
    chatId: raw.channel_id,
    senderId: raw.user_id,
    senderName: raw.user_name,
    content: command !== undefined && takesAll ? `/${name}${text.slice(word.length)}` : question,
    timestamp: now,
    media: [],
    place: privacyOf(raw.channel_id),
    mentioned: true,
    answeredInPlace: true,
  };
}

/** A pressed button as a message without text. */
export function fromPress({
  user,
  trigger_id: id,
  container,
  actions,
}: RawPress): InboundMessage | undefined {
  const [action] = actions;
  if (action?.type !== 'button' || action.value === undefined) return undefined;
  const { channel_id: chatId, message_ts: ts, thread_ts: thread } = container;
  return {
    id: `press:${id}`,
    channel: 'slack',
    chatId,
    ...(thread !== undefined && thread !== ts && { threadId: thread }),
    senderId: user.id,
    senderName: user.name,
    content: '',
    button: action.value,
    forms: true,
    buttonUnder: { id: ts },
    timestamp: timeOf(action.action_ts),
    media: [],
    place: privacyOf(chatId),
    mentioned: true,
  };
}

/** The bot joined a channel or left it; undefined for everyone else. */
export function toMembership(raw: RawMembership, self: Self): MembershipChange | undefined {
  const joined = raw.type === 'member_joined_channel';
  if (joined && raw.user !== self.userId) return undefined;
  return {
    id: `${raw.channel}:membership:${raw.event_ts}`,
    channel: 'slack',
    chatId: raw.channel,
    place: privacyOf(raw.channel),
    change: joined ? 'joined' : 'left',
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

interface Shared {
  text: string;
  author: string | undefined;
}

/** Shared messages of others: next to the sender's own text they are quoted, alone they are forwarded. */
function sharedIn(
  { attachments, user }: RawMessage,
  nameOf: (id: string) => string | undefined,
  alone: boolean,
): { shared: Shared[]; quoted?: Quoted | undefined } {
  const all = (attachments ?? [])
    .filter((one) => one.is_share === true || one.is_msg_unfurl === true)
    .map((one) => ({
      text: readText(one.text ?? one.fallback ?? '', nameOf),
      author: one.author_name,
      authorId: one.author_id,
    }))
    .filter(({ text }) => text !== '');
  const [first] = all;
  if (alone || first === undefined) return { shared: all };
  const by = first.authorId !== undefined && first.authorId === user ? 'sender' : 'other';
  const quoted = boundQuote({
    text: first.text,
    by,
    media: [],
    ...(by === 'other' && { author: first.author }),
  });
  return { shared: [], quoted };
}

/** Ids of the people whom a text mentions. */
function mentionedIn(text: string): string[] {
  return [...text.matchAll(/<@([UW][0-9A-Z]{2,30})(?:\|[^<>]*)?>/g)].flatMap(([, id]) => id ?? []);
}

/** The text as people see it; `nameOf` returns the name of a person if it is known. */
function readText(text: string, nameOf: (id: string) => string | undefined): string {
  const shown = text.replaceAll(
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
  return shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
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

/** The text without the bot's name at its start. */
function withoutName(text: string, userId: string): string {
  return text.replace(new RegExp(String.raw`^\s*<@${userId}(?:\|[^<>]*)?>[\s,:]*`), '');
}
