/** The list of commands that a bot offers, checked as `setMyCommands` does. */
import { badRequest, textOf } from './refusal.ts';
import type { Params } from './refusal.ts';

/** The commands of a call. Throws the server's refusals. */
export function readCommands(params: Params): unknown[] {
  const commands = params['commands'];
  if (!Array.isArray(commands) || commands.length > 100) throw badRequest("can't parse commands");
  for (const entry of commands as unknown[]) {
    const { command, description } = (entry ?? {}) as Params;
    if (!/^[a-z0-9_]{1,32}$/.test(textOf(command))) throw badRequest('BOT_COMMAND_INVALID');
    if (!/^.{1,256}$/s.test(textOf(description))) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID');
  }
  return commands;
}
