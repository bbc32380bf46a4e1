/** Chats that got another id: told by their platform, when it happens or when something is sent to the old one. */
import type { ChannelAccess } from '../contracts/access.ts';
import type { Log } from '../contracts/log.ts';
import type { FollowChatMigration, ChatMigrationStore } from '../contracts/message.ts';

export interface MovesDeps {
  store: ChatMigrationStore;
  channelAccess: (channel: string) => ChannelAccess | undefined;
  log: Log;
}

/** Makes `FollowChatMigration`. What a gateway's file says of the old id cannot follow: that is logged. */
export function createFollowChatMigration({ store, channelAccess, log }: MovesDeps): FollowChatMigration {
  return async (move) => {
    const groups = channelAccess(move.channel)?.groups ?? {};
    const listed = Object.hasOwn(groups, move.from);
    if (!(await store.moveChat(move, listed))) return;
    log.info(move, 'a chat has a new id; its grant, conversation and schedules follow');
    if (listed)
      log.warn(
        move,
        `access.${move.channel}.groups names the old id of a chat: put the new one in its place`,
      );
  };
}
