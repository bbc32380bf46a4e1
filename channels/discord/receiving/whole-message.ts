/**
 * Reads a message together with what its event does not include: the bot's role, a text that came as a file, its
 * thread, and whether it is for the bot.
 */
import type { InboundMessage } from '../../../src/contracts/message.ts';
import type { Membership } from '../../../src/contracts/platform/membership.ts';
import type { BotRoles } from '../guilds/bot-roles.ts';
import { type Members, membershipsOf } from '../guilds/members.ts';
import { type ChannelKind, type RawMessage, toInbound } from './inbound.ts';
import { type LongTextParts, withLongText } from './long-text.ts';
import { isTransientError } from '../rest/retry.ts';
import { isAddressed } from '../threads/addressed.ts';
import { hasThread, isByBot, type KindOf } from '../threads/question-threads.ts';

export interface WholeMessageParts extends LongTextParts {
  roles: Pick<BotRoles, 'of'>;
  members: Pick<Members, 'rolesOf'>;
  kindOf: KindOf;
  /** Ids of the channels that were allowed individually. */
  groups: () => Promise<readonly string[]>;
}

/** Undefined for a message of the bot itself or of the system. Throws `StoreError` and `ChannelError`. */
export async function readWhole(
  message: RawMessage,
  kind: ChannelKind,
  botId: string,
  parts: WholeMessageParts,
): Promise<InboundMessage | undefined> {
  const guildId = message.guild_id ?? kind.guildId;
  const isByRole = message.mention_roles.length > 0 && guildId !== undefined;
  const roleId = isByRole ? await parts.roles.of(guildId, botId) : undefined;
  const inbound = toInbound(await withLongText(message, parts), { botId, roleId }, kind);
  if (inbound === undefined) return undefined;
  const threadId = await ownThread(message, kind, botId, parts.kindOf);
  const mentioned = inbound.mentioned || (await isAddressed(message, kind, { ...parts, botId }));
  const memberships = mentioned ? await membershipsIn(guildId, message, parts) : [];
  return { ...inbound, mentioned, memberships, ...(threadId !== undefined && { threadId }) };
}

/** What its sender belongs to now. The event of a message includes it, the history does not. */
async function membershipsIn(
  guildId: string | undefined,
  message: RawMessage,
  { members }: WholeMessageParts,
): Promise<Membership[]> {
  if (guildId === undefined || isByBot(message)) return membershipsOf(guildId);
  const roles = message.member?.roles ?? (await askedRoles(members, guildId, message.author.id));
  return roles === undefined ? [] : membershipsOf(guildId, roles);
}

/** Undefined if Discord does not tell this bot. */
async function askedRoles(
  members: Pick<Members, 'rolesOf'>,
  guildId: string,
  userId: string,
): Promise<string[] | undefined> {
  try {
    return await members.rolesOf(guildId, userId);
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
