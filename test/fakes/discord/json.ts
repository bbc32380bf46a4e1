/** How the fake Discord shows people, messages and channels over REST and the gateway. */
import type { FakeChannel, FakeMessage, FakePerson } from './platform.ts';

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
          message_reference: { type: 0, channel_id: reply.channelId, message_id: reply.id },
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

/** What a message says: all that is shown of a forwarded one, which does not reveal who wrote it. */
function writtenJson(message: FakeMessage): object {
  return {
    content: message.content,
    timestamp: new Date(message.at).toISOString(),
    edited_timestamp: message.editedAt === undefined ? null : new Date(message.editedAt).toISOString(),
    mentions: message.mentions.map(personJson),
    mention_roles: message.mentionRoles,
    attachments: message.attachments,
    embeds: [],
    type: message.type,
    flags: message.flags,
    ...message.fields,
  };
}

/** A channel's description, as Discord returns it. */
export function channelJson({ id, type, guildId, parentId, ownerId, name }: FakeChannel): object {
  const guild = guildId === undefined ? {} : { guild_id: guildId, parent_id: parentId ?? null };
  return {
    id,
    type,
    ...guild,
    ...(ownerId !== undefined && { owner_id: ownerId }),
    ...(name !== undefined && { name }),
  };
}

/** A thread in the description of its server, which does not repeat the server. */
export function threadOfGuildJson(thread: FakeChannel): object {
  const { guild_id: _, ...json } = channelJson(thread) as { guild_id?: string };
  return json;
}

/**
 * Where an interaction was used, and through whose installation of the app: in chats of others only through the
 * person's.
 */
export function installedBy({ guildId, isGuest, type }: FakeChannel, by: FakePerson): object {
  const context = guildId !== undefined ? 0 : isGuest === true || type === 3 ? 2 : 1;
  const owners = isGuest === true ? { '1': by.id } : { '0': guildId ?? '0' };
  return { context, authorizing_integration_owners: owners };
}
