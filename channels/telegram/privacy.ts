/** Telegram's privacy mode, which keeps from a bot most of what is said in groups, compared with the settings. Pure. */
import type { ChannelAccess } from '../../src/contracts/access.ts';

/** How all messages come to the bot. */
export const PRIVACY_REMEDY =
  'turn privacy mode off at @BotFather (/setprivacy), then remove the bot from the group and add it again';

/** Ids of the groups whose settings ask for messages that do not name the bot. */
export function groupsThatNeedAll(access: ChannelAccess | undefined): string[] {
  return Object.entries(access?.groups ?? {})
    .filter(([, { mention, observe }]) => !mention || observe === true)
    .map(([id]) => id);
}
