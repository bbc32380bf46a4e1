/** Reads the events besides messages: stop reactions, deletions and threads. Pure; anything malformed is left out. */
import { z } from 'zod';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { membershipsOf } from '../guilds.ts';
import { type ChannelKind, placeOf, readChannel } from './inbound.ts';
import { nameOf, Person, Snowflake } from './message-parts.ts';

const Deleted = z.object({ id: Snowflake, channel_id: Snowflake });
const DeletedInBulk = z.object({ ids: z.array(Snowflake).min(1), channel_id: Snowflake });

export interface Deletion {
  channelId: string;
  messageIds: readonly string[];
}

const STOP_REACTIONS = ['👎', '⏹️', '⏹', '🛑'];

const Reaction = z.object({
  user_id: Snowflake,
  channel_id: Snowflake,
  message_id: Snowflake,
  guild_id: Snowflake.optional(),
  /** Absent if Discord no longer knows it. */
  message_author_id: Snowflake.optional(),
  member: z.object({ user: Person.optional(), roles: z.array(Snowflake).default([]) }).optional(),
  emoji: z.object({ name: z.string().nullish() }),
});
export type StopReaction = z.infer<typeof Reaction>;

/** A reaction that asks to stop; undefined for all others, and for reactions to messages of other authors than the bot. */
export function readStopReaction(event: unknown, botId: string): StopReaction | undefined {
  const { data } = Reaction.safeParse(event);
  if (data === undefined || !STOP_REACTIONS.includes(data.emoji.name ?? '')) return undefined;
  const { user_id: userId, member, message_author_id: author } = data;
  if (userId === botId || member?.user?.bot === true) return undefined;
  return author === undefined || author === botId ? data : undefined;
}

/** It has no text; `sequence` makes its id unique, because reactions have no id. */
export function fromStopReaction(
  reaction: StopReaction,
  sequence: string,
  { place, parentId }: ChannelKind,
): InboundMessage {
  const { user_id: senderId, channel_id: channelId, message_id: stops, guild_id: guildId, member } = reaction;
  return {
    id: `${stops}:stop:${senderId}:${sequence}`,
    ...placeOf(channelId, parentId),
    senderId,
    senderName: member?.user && nameOf(member.user),
    memberships: membershipsOf(guildId, member?.roles),
    content: '',
    stops,
    // It stops only what is running now.
    timestamp: 0,
    media: [],
    place,
    mentioned: true,
  };
}

/** Deleted messages; undefined for any other event. */
export function readDeletion(name: string, event: unknown): Deletion | undefined {
  if (name === 'MESSAGE_DELETE_BULK') {
    const { data } = DeletedInBulk.safeParse(event);
    return data && { channelId: data.channel_id, messageIds: data.ids };
  }
  const { data } = Deleted.safeParse(event);
  return name === 'MESSAGE_DELETE' && data !== undefined
    ? { channelId: data.channel_id, messageIds: [data.id] }
    : undefined;
}

const Thread = z.object({ id: Snowflake });
/** A server as the bot first sees it: with its unarchived threads. */
const Guild = z.object({ id: Snowflake, threads: z.array(z.unknown()).default([]) });

/** The threads of channels that the bot may now read. */
const ThreadList = z.object({ guild_id: Snowflake, threads: z.array(z.unknown()) });

/** The kinds of the threads in an event, by id; empty for every other event. */
export function reportedThreads(name: string, data: unknown): Map<string, ChannelKind> {
  switch (name) {
    case 'THREAD_CREATE':
    case 'THREAD_UPDATE':
      return kindsOf([data], undefined);
    case 'THREAD_LIST_SYNC': {
      const list = ThreadList.safeParse(data).data;
      return kindsOf(list?.threads ?? [], list?.guild_id);
    }
    case 'GUILD_CREATE': {
      const guild = Guild.safeParse(data).data;
      return kindsOf(guild?.threads ?? [], guild?.id);
    }
    default:
      return new Map();
  }
}

/** `guildId`: of an event whose threads do not all name their server. */
function kindsOf(threads: readonly unknown[], guildId: string | undefined): Map<string, ChannelKind> {
  return new Map(
    threads.flatMap((thread): [string, ChannelKind][] => {
      const id = Thread.safeParse(thread).data?.id;
      const kind = readChannel(thread);
      if (id === undefined || kind?.parentId === undefined) return [];
      return [[id, { ...kind, guildId: kind.guildId ?? guildId }]];
    }),
  );
}
