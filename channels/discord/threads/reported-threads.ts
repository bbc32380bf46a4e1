/** The threads that Discord's gateway describes on its own, so that they need no individual lookups. */
import { z } from 'zod';
import { type ChannelKind, readChannel } from '../receiving/inbound.ts';
import { Snowflake } from '../receiving/quoted.ts';

const Named = z.object({ id: Snowflake });
/** A server as the bot first sees it: with its unarchived threads. */
const Guild = z.object({ id: Snowflake, threads: z.array(z.unknown()).default([]) });
/** The threads of channels that the bot may now read. */
const ThreadList = z.object({ guild_id: Snowflake, threads: z.array(z.unknown()) });

/** The kinds of the threads in an event, by id; empty for every other event. Pure; anything malformed is left out. */
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
      const id = Named.safeParse(thread).data?.id;
      const kind = readChannel(thread);
      if (id === undefined || kind?.parentId === undefined) return [];
      return [[id, { ...kind, guildId: kind.guildId ?? guildId }]];
    }),
  );
}
