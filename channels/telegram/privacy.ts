/** Compares the settings with Telegram's privacy mode, which hides most group messages from a bot. Pure. */
import type { ChannelAccess } from '../../src/protocol/access.ts';

/** How to let the bot see all messages. */
export const PRIVACY_REMEDY =
  'turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the group and add it again';

/** Ids of the groups whose settings require messages that do not name the bot. */
export function groupsThatNeedAll(access: ChannelAccess | undefined): string[] {
  return Object.entries(access?.groups ?? {})
    .filter(([, { mention, observe }]) => !mention || observe === true)
    .map(([id]) => id);
}
