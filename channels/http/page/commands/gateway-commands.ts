/** The commands of the gateway. */
import { api, type CommandListing } from '../api.ts';

let commands: Promise<CommandListing[]> | undefined;

/** Reads them once. Rejects with `ApiError`; the next call tries again then. */
export function gatewayCommands(): Promise<CommandListing[]> {
  commands ??= api.commands().catch((error: unknown) => {
    commands = undefined;
    throw error;
  });
  return commands;
}
