/** What people write in the fake Discord, with everything that a message can carry. */
import {
  type DiscordPlatform,
  type FakeChannel,
  type FakeMessage,
  type FakePerson,
  FLAG_HAS_SNAPSHOT,
} from './platform.ts';

export interface SayOptions {
  /** Mentions the bot at the start. */
  mention?: boolean;
  /** Mentions the bot's role at the start. */
  mentionRole?: boolean;
  replyTo?: FakeMessage;
  /** The message that is forwarded here, from this chat or another. */
  forwards?: FakeMessage;
  attachments?: object[];
  flags?: number;
  /** Further fields: `sticker_items`, `poll`. */
  fields?: object;
  webhook?: boolean;
  /** A system message of this type (7: a member joined). */
  type?: number;
}

/** The message of a person, as the platform keeps it. */
export function said(
  platform: DiscordPlatform,
  channel: FakeChannel,
  text: string,
  from: FakePerson,
  options: SayOptions,
): FakeMessage {
  const { mention, mentionRole, replyTo, forwards, attachments, flags, fields, webhook, type } = options;
  const { bot, botRoleId } = platform;
  const named = mention === true ? `<@${bot.id}> ` : mentionRole === true ? `<@&${botRoleId}> ` : '';
  return platform.add(channel.id, from, `${named}${text}`, {
    ...(mentionRole === true ? { mentionRoles: [botRoleId] } : {}),
    mentions: mention === true ? [bot] : [],
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(forwards === undefined ? {} : { forwards, flags: FLAG_HAS_SNAPSHOT }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(flags === undefined ? {} : { flags }),
    ...(fields === undefined ? {} : { fields }),
    ...(webhook === true ? { webhookId: platform.newId() } : {}),
    ...(type === undefined ? {} : { type }),
  });
}
