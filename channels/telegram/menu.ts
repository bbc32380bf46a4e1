/** The gateway's commands as Telegram's menu shows them. Pure. */
import type { CommandListing } from '../../src/contracts/command.ts';

/** Telegram's limits for `setMyCommands`: commands in all, and characters of a description. */
const MAX_COMMANDS = 100;
const MAX_DESCRIPTION = 256;
const NAME = /^[a-z0-9_]{1,32}$/;

/** A row of the menu. */
export interface MenuCommand {
  command: string;
  description: string;
}

/** The rows Telegram takes, in the order of the list; one refused name would cost the whole menu. */
export function toMenu(commands: readonly CommandListing[]): MenuCommand[] {
  return commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MAX_COMMANDS)
    .map(({ name, description }) => ({
      command: name,
      description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    }));
}
