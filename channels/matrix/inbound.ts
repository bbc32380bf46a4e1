/** Converts room events to the gateway's messages. Pure. */
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { CommandListing } from '../../src/protocol/command.ts';
import type { Media } from '../../src/protocol/media.ts';
import { boundQuote, type InboundMessage, type Place, type Quoted } from '../../src/protocol/message.ts';
import { oneLine } from '../../src/lib/text.ts';
import { withLinks } from './links.ts';
import { type RawContent, type RawMessage, readContentUri } from './events.ts';

/** Who the bot is. */
export interface Self {
  userId: string;
  /** The name that people see. */
  name: string;
}

/** What the conversion of a message needs to know about its room. */
export interface InboundContext {
  roomId: string;
  place: InboundMessage['place'];
  self: Self;
  senderName: string;
  /** The message that it replies to, if the homeserver still has it. */
  repliedTo?: RawMessage | undefined;
  repliedName?: string | undefined;
  /** The message that it edits, if the homeserver still has it: an edit does not name its thread. */
  edited?: RawMessage | undefined;
  /** Commands that people can write with a `!`. */
  commands: readonly CommandListing[];
}

/** Reactions with which a person stops an answer, without their variant marks. */
const STOP_REACTIONS = new Set(['👎', '⏹', '🛑']);

/** A message that a person wrote, or the edit of one by its author. */
export function toInbound(message: RawMessage, about: InboundContext): InboundMessage {
  const { content: raw, sender, event_id: id, origin_server_ts: timestamp } = message;
  const { roomId, self, place, repliedTo } = about;
  const relation = raw['m.relates_to'];
  const isEdit = relation?.rel_type === 'm.replace';
  const content = isEdit ? (raw['m.new_content'] ?? raw) : raw;
  const quoted = repliedTo && quotedOf(repliedTo, sender, about);
  const { text, media } = readContent(content, relation?.['m.in_reply_to'] !== undefined, {
    roomId,
    eventId: id,
  });
  return {
    id,
    ...(isEdit && about.edited !== undefined ? placeOf(roomId, about.edited) : placeOf(roomId, message)),
    senderId: sender,
    // Bots send notices so that no other bot answers ("m.notice").
    ...(content.msgtype === 'm.notice' && { fromBot: true }),
    senderName: about.senderName,
    content: commandIn(withoutName(text, self), about.commands),
    timestamp,
    media,
    messageId: isEdit ? (relation.event_id ?? id) : id,
    isEdit: isEdit || undefined,
    quoted,
    place,
    mentioned: place === 'private' || isMeant(content, self) || repliedTo?.sender === self.userId,
  };
}

/** A message of a thread. */
export function toEarlier(
  roomId: string,
  message: RawMessage,
  self: string,
  senderName: string,
): EarlierMessage {
  const { content, sender, event_id: id } = message;
  const isReply = content['m.relates_to']?.['m.in_reply_to'] !== undefined;
  const { text, media } = readContent(content, isReply, { roomId, eventId: id });
  return { id, senderId: sender, senderName, content: text, media, isOwn: sender === self };
}

/** Whether a reaction stops the answer below which it appears. */
export function isStop(key: string): boolean {
  return STOP_REACTIONS.has(withoutVariant(key));
}

/** An emoji without the mark that makes it colored, and without a skin tone. */
export function withoutVariant(emoji: string): string {
  return emoji.replaceAll(/\uFE0F|[\u{1F3FB}-\u{1F3FF}]/gu, '');
}

/** The message replied to; undefined if a thread only names its last message, for clients without threads. */
export function replyOf({ content }: RawMessage): string | undefined {
  const relation = content['m.relates_to'];
  if (relation?.rel_type === 'm.thread' && relation.is_falling_back === true) return undefined;
  return relation?.['m.in_reply_to']?.event_id;
}

/** The message that an edit changes; undefined for anything else. */
export function editedIn({ content }: RawMessage): string | undefined {
  const relation = content['m.relates_to'];
  return relation?.rel_type === 'm.replace' ? relation.event_id : undefined;
}

/** A thread is a separate conversation. */
export function placeOf(roomId: string, { content }: Pick<RawMessage, 'content'>): Place {
  const place = { channel: 'matrix', chatId: roomId };
  const relation = content['m.relates_to'];
  const isThread = relation?.rel_type === 'm.thread' && relation.event_id !== undefined;
  return isThread ? { ...place, threadId: relation.event_id } : place;
}

const KINDS = {
  'm.image': 'image',
  'm.audio': 'audio',
  'm.video': 'video',
  'm.file': 'file',
  'm.sticker': 'image',
} as const;

/** The event in which a file is found. */
interface FileEvent {
  roomId: string;
  eventId: string;
}

/** The address of a file, and the event that has the key of an encrypted one. */
export function readFileReference(reference: string): { uri: string } & Partial<FileEvent> {
  const [uri = '', roomId, eventId] = reference.split(' ');
  return { uri, ...(roomId !== undefined && eventId !== undefined && { roomId, eventId }) };
}

function readContent(
  content: RawContent,
  isReply: boolean,
  { roomId, eventId }: FileEvent,
): { text: string; media: Media[] } {
  const { msgtype, body, file: encrypted, geo_uri: where } = content;
  const address = encrypted?.url ?? content.url ?? '';
  if (msgtype === 'm.location') return { text: `[location ${oneLine(where ?? body)}]`, media: [] };
  if (msgtype === 'm.sticker') return { text: `[sticker ${oneLine(body)}]`, media: [] };
  const text = withLinks(isReply ? withoutFallback(body) : body, content.formatted_body ?? '');
  if (!isMedia(msgtype)) return { text: msgtype === 'm.emote' ? `* ${text}` : text, media: [] };
  const { filename, info } = content;
  const isCaptioned = filename !== undefined && filename !== body;
  if (readContentUri(address) === undefined)
    return { text: `[file ${oneLine(filename ?? body)}, which cannot be read]`, media: [] };
  const kind = content['org.matrix.msc3245.voice'] === undefined ? KINDS[msgtype] : 'voice';
  const name = filename ?? body;
  const file: Media = {
    kind,
    url: encrypted === undefined ? address : `${address} ${roomId} ${eventId}`,
    // Clients choose the names of recordings, not the sender.
    name: kind === 'voice' ? undefined : name || undefined,
    mimeType: info?.mimetype,
    bytes: info?.size,
    seconds: info?.duration === undefined ? undefined : Math.round(info.duration / 1_000),
  };
  return { text: isCaptioned ? text : '', media: [file] };
}

function isMedia(msgtype: string): msgtype is keyof typeof KINDS {
  return Object.hasOwn(KINDS, msgtype);
}

/** Older clients write the message replied to above the text, as lines with `>` ("Fallbacks for rich replies"). */
function withoutFallback(body: string): string {
  if (!body.startsWith('> <@')) return body;
  const lines = body.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('>'));
  if (end === -1) return body;
  return lines.slice(lines[end] === '' ? end + 1 : end).join('\n');
}

/** The text without the bot's name at its start, which clients write when they mention it. */
function withoutName(text: string, { userId, name }: Self): string {
  const start = text.trimStart();
  for (const alias of [userId, `@${name}`, name]) {
    if (alias === '' || alias === '@' || !start.toLowerCase().startsWith(alias.toLowerCase())) continue;
    const rest = start.slice(alias.length);
    if (rest === '' || /^[\s,:]/.test(rest)) return rest.replace(/^[\s,:]{1,20}/, '');
  }
  return text;
}

/** Clients do not send messages that begin with `/`, so commands may begin with `!`. */
function commandIn(text: string, commands: readonly CommandListing[]): string {
  const [, name = ''] = /^!([A-Za-z]{1,40})(?=\s|$)/.exec(text) ?? [];
  const isCommand = commands.some((one) => one.name === name.toLowerCase());
  return isCommand ? `/${name.toLowerCase()}${text.slice(name.length + 1)}` : text;
}

/** The message names the bot: in the list of mentions, or, from older clients, by its id or a link to it. */
function isMeant(content: RawContent, { userId }: Self): boolean {
  const mentions = content['m.mentions'];
  if (mentions !== undefined) return mentions.user_ids?.includes(userId) === true;
  const link = `https://matrix.to/#/${userId}`;
  const html = content.formatted_body ?? '';
  return content.body.includes(userId) || html.includes(link) || html.includes(link.replace(':', '%3A'));
}

function quotedOf(
  replied: RawMessage,
  sender: string,
  { roomId, self, repliedName }: InboundContext,
): Quoted | undefined {
  const isReply = replied.content['m.relates_to']?.['m.in_reply_to'] !== undefined;
  const { text, media } = readContent(replied.content, isReply, { roomId, eventId: replied.event_id });
  const by = replied.sender === self.userId ? 'bot' : replied.sender === sender ? 'sender' : 'other';
  const author = by === 'other' ? { author: repliedName } : {};
  return boundQuote({ text, by, media, sentAt: replied.origin_server_ts, ...author });
}
