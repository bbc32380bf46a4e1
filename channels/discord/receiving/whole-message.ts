/** Reads a message with what its event lacks: the bot's role, a text sent as a file, its thread, whether it is for the bot. */
import type { Log } from '../../../src/protocol/log.ts';
import type { InboundMessage, Membership } from '../../../src/protocol/message.ts';
import { oneLine } from '../../../src/lib/text.ts';
import type { FileDownload } from '../file-download.ts';
import { type Guilds, membershipsOf } from '../guilds.ts';
import { hasThread, type KindOf } from '../question-threads.ts';
import { isTransientError, retryTransient } from '../rest.ts';
import { type ChannelKind, isByBot, type RawMessage, toInbound } from './inbound.ts';
import { type Attachment, longTextOf, MAX_LONG_TEXT_BYTES, mediaOf } from './message-parts.ts';

/** Longest wait for such a text, in milliseconds: until then the chat waits. */
const READ_MS = 15_000;

export interface WholeMessageParts {
  guilds: Guilds;
  files: FileDownload;
  /** Ids of the channels that were allowed individually. Throws `StoreError`. */
  groups: () => Promise<readonly string[]>;
  signal: AbortSignal;
  log: Log;
}

/** Undefined for a message of the bot itself or of the system. Throws `StoreError` and `ChannelError`. */
export async function readWhole(
  message: RawMessage,
  kind: ChannelKind,
  botId: string,
  kindOf: KindOf,
  parts: WholeMessageParts,
): Promise<InboundMessage | undefined> {
  const guildId = message.guild_id ?? kind.guildId;
  const isByRole = message.mention_roles.length > 0 && guildId !== undefined;
  const roleId = isByRole ? await parts.guilds.botRole(guildId, botId) : undefined;
  const inbound = toInbound(await withLongText(message, parts), { botId, roleId }, kind);
  if (inbound === undefined) return undefined;
  const threadId = await ownThread(message, kind, botId, kindOf);
  const mentioned = inbound.mentioned || (await isAddressed(message, kind, botId, kindOf, parts.groups));
  const memberships = mentioned ? await membershipsIn(guildId, message, parts.guilds) : [];
  const named = guildId === undefined ? inbound : await withPlaceNames(inbound, guildId, parts.guilds);
  // A name costs two calls for each server, so only those who are answered cause them.
  const chatName =
    mentioned && guildId !== undefined && (await parts.guilds.names(guildId)).get(named.chatId);
  return {
    ...named,
    mentioned,
    memberships,
    ...(chatName && { chatName }),
    ...(threadId !== undefined && { threadId }),
  };
}

/** Channels and roles as Discord writes them in a text. */
const PLACE = /<(#|@&)(\d{1,20})>/g;

/** The message with names in place of the ids of channels and roles, where Discord tells them. */
async function withPlaceNames(
  message: InboundMessage,
  guildId: string,
  guilds: Guilds,
): Promise<InboundMessage> {
  const { content, quoted } = message;
  if (`${content}${quoted?.text ?? ''}`.search(PLACE) === -1) return message;
  const names = await guilds.names(guildId);
  const named = (text: string): string =>
    text.replaceAll(PLACE, (tag, mark: string, id: string) => {
      const name = names.get(id);
      return name === undefined ? tag : `${mark.slice(0, 1)}${oneLine(name)}`;
    });
  return {
    ...message,
    content: named(content),
    ...(quoted && { quoted: { ...quoted, text: named(quoted.text) } }),
  };
}

/** What its sender belongs to now. The event of a message includes it, the history does not. */
async function membershipsIn(
  guildId: string | undefined,
  message: RawMessage,
  guilds: Guilds,
): Promise<Membership[]> {
  if (guildId === undefined || isByBot(message)) return membershipsOf(guildId);
  const roles = message.member?.roles ?? (await rolesIfVisible(guilds, guildId, message.author.id));
  return roles === undefined ? [] : membershipsOf(guildId, roles);
}

/** Undefined if Discord does not tell this bot. */
async function rolesIfVisible(
  guilds: Guilds,
  guildId: string,
  userId: string,
): Promise<string[] | undefined> {
  try {
    return await guilds.rolesOf(guildId, userId);
  } catch (error) {
    if (isTransientError(error)) throw error;
    return undefined;
  }
}

/** The thread that this bot has opened for a message: the question was asked there. */
async function ownThread(
  message: RawMessage,
  { parentId }: ChannelKind,
  botId: string,
  kindOf: KindOf,
): Promise<string | undefined> {
  if (parentId !== undefined || !hasThread(message)) return undefined;
  return (await kindOf(message.id))?.ownerId === botId ? message.id : undefined;
}

/**
 * True for a message that is meant for the bot by its place alone. In a forum that was allowed individually each post
 * is a question, and its author continues without a mention; other people there have to name the bot. Throws
 * `StoreError`.
 */
async function isAddressed(
  message: RawMessage,
  { parentId, ownerId }: ChannelKind,
  botId: string,
  kindOf: KindOf,
  groups: () => Promise<readonly string[]>,
): Promise<boolean> {
  // Two bots would answer each other forever.
  if (parentId === undefined || ownerId === undefined || isByBot(message)) return false;
  if (ownerId === botId) return true;
  if (ownerId !== message.author.id) return false;
  const parent = await kindOf(parentId);
  return parent?.isForum === true && (await groups()).includes(parentId);
}

/** The message with its file's text as its own; a file that is unreadable or too long stays one. Throws the signal's reason. */
async function withLongText(message: RawMessage, parts: WholeMessageParts): Promise<RawMessage> {
  const file = longTextOf(message);
  if (file === undefined) return message;
  try {
    const limit = AbortSignal.any([parts.signal, AbortSignal.timeout(READ_MS)]);
    const text = await retryTransient(() => readText(message, file, parts.files, limit), limit);
    if (text === undefined) return message;
    const content = [message.content, text].filter(Boolean).join('\n');
    return { ...message, content, attachments: message.attachments.filter((one) => one !== file) };
  } catch (error) {
    parts.signal.throwIfAborted();
    parts.log.warn({ err: error, messageId: message.id }, 'discord_long_text_unread');
    return message;
  }
}

/** Undefined for more text than a message can hold. */
async function readText(
  message: RawMessage,
  file: Attachment,
  files: FileDownload,
  signal: AbortSignal,
): Promise<string | undefined> {
  const of = { channelId: message.channel_id, messageId: message.id };
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const media of mediaOf({ attachments: [file] }, of))
    for await (const chunk of await files.open(media, signal)) {
      length += chunk.length;
      if (length > MAX_LONG_TEXT_BYTES) return undefined;
      chunks.push(chunk);
    }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
