/** What a bot says of itself: its commands by scope, and its descriptions, checked as the server does. */
import { badRequest, textOf } from './refusal.ts';
import type { Params } from './refusal.ts';

/** Scopes without a chat (Bot API `BotCommandScope`). */
const SCOPES = ['default', 'all_private_chats', 'all_group_chats', 'all_chat_administrators'];

export class FakeIntroduction {
  readonly #commands = new Map<string, unknown[]>();
  description = '';
  shortDescription = '';

  /** The commands of a scope; empty where none are set. */
  commandsOf(scope: string): unknown[] {
    return this.#commands.get(scope) ?? [];
  }

  /** Answers the calls about it; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    switch (method) {
      case 'getMyCommands':
        return this.commandsOf(keyOf(params));
      case 'setMyCommands':
        this.#commands.set(keyOf(params), readCommands(params));
        return true;
      case 'getMyDescription':
        return { description: this.description };
      case 'setMyDescription':
        this.description = readText(params['description'], 512);
        return true;
      case 'getMyShortDescription':
        return { short_description: this.shortDescription };
      case 'setMyShortDescription':
        this.shortDescription = readText(params['short_description'], 120);
        return true;
      default:
        return undefined;
    }
  }
}

function keyOf({ scope, language_code: language }: Params): string {
  const { type = 'default' } = (scope ?? {}) as Params;
  if (!SCOPES.includes(textOf(type))) throw badRequest("can't parse BotCommandScope");
  return textOf(language) === '' ? textOf(type) : `${textOf(type)} ${textOf(language)}`;
}

function readText(value: unknown, most: number): string {
  const text = textOf(value);
  if (text.length > most) throw badRequest('description is too long');
  return text;
}

function readCommands(params: Params): unknown[] {
  const commands = params['commands'];
  if (!Array.isArray(commands) || commands.length > 100) throw badRequest("can't parse commands");
  for (const entry of commands as unknown[]) {
    const { command, description } = (entry ?? {}) as Params;
    if (!/^[a-z0-9_]{1,32}$/.test(textOf(command))) throw badRequest('BOT_COMMAND_INVALID');
    if (!/^.{1,256}$/s.test(textOf(description))) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID');
  }
  return commands;
}
