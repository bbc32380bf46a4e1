/** Chats with a changed id: reported by their platform when it happens, or when a message is sent to the old id. */
import type { ChannelAccess } from '../protocol/access.ts';
import type { Log } from '../protocol/log.ts';
import type { FollowChatMigration, ChatMigrationStore } from '../protocol/message.ts';

export interface ChatMigrationDeps {
  store: ChatMigrationStore;
  channelAccess: (channel: string) => ChannelAccess | undefined;
  log: Log;
}

/** Makes `FollowChatMigration`. The configuration file keeps the old id, which is logged. */
export function createFollowChatMigration({
  store,
  channelAccess,
  log,
}: ChatMigrationDeps): FollowChatMigration {
  return async (move) => {
    const groups = channelAccess(move.channel)?.groups ?? {};
    const listed = Object.hasOwn(groups, move.from);
    if (!(await store.moveChat(move, listed))) return;
    log.info(move, 'chat_migrated');
    if (listed) {
      const remedy = `Replace the old id in access.${move.channel}.groups of config.json.`;
      log.warn({ ...move, remedy }, 'chat_migration_not_in_config');
    }
  };
}
