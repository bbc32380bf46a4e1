/** Reactions to the bot's messages: two of them stop the answer below which they appear. Pure. */
import { z } from 'zod';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { membershipsOf } from '../guilds/members.ts';
import { type ChannelKind, placeOf } from '../receiving/inbound.ts';
import { nameOf, Person, Snowflake } from '../receiving/quoted.ts';

const STOP_REACTIONS = ['👎', '⏹️', '⏹', '🛑'];

/** The event Message Reaction Add. */
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
  const { user_id: by, member, message_author_id: author } = data;
  if (by === botId || member?.user?.bot === true) return undefined;
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
