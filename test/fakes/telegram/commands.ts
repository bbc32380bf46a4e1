/** What a bot says about itself: its commands by scope, and its descriptions, checked as the server does. */
import type { FakeChats } from './chats.ts';
import { badRequest, type Params, textOf } from './refusal.ts';

/** Scopes without a chat (Bot API `BotCommandScope`). */
const SCOPES = ['default', 'all_private_chats', 'all_group_chats', 'all_chat_administrators'];

export class FakeIntroduction {
  /** Administrators of groups: the ids of group and person, separated by a blank. */
  readonly administrators = new Set<string>();
  readonly #commands = new Map<string, unknown[]>();
  /** What the bot says about itself, by kind and language: `description`, `short de`. */
  readonly texts = new Map<string, string>();
  menuButton: Params = { type: 'default' };
  readonly #chats: FakeChats;

  constructor(chats: FakeChats) {
    this.#chats = chats;
  }

  /** The commands of a scope; empty if none are set. */
  commandsOf(scope: string): unknown[] {
    return this.#commands.get(scope) ?? [];
  }

  #keyOf(params: Params): string {
    const { type = 'default', chat_id: chat } = (params['scope'] ?? {}) as Params;
    const language = readLanguage(params);
    if (textOf(type) === 'chat') this.#chats.find(chat);
    else if (!SCOPES.includes(textOf(type))) throw badRequest("can't parse BotCommandScope");
    return [textOf(type), textOf(chat), language].filter(Boolean).join(' ');
  }

  /** Telegram answers with the text for all languages if there is none in the requested one. */
  #textFor(kind: string, params: Params): string {
    return this.texts.get(textKeyOf(kind, params)) ?? this.texts.get(kind) ?? '';
  }

  /** Answers the calls about it; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    switch (method) {
      case 'getChatMember': {
        const isAdmin = this.administrators.has(`${textOf(params['chat_id'])} ${textOf(params['user_id'])}`);
        return { status: isAdmin ? 'administrator' : 'member' };
      }
      case 'getMyCommands':
        return this.commandsOf(this.#keyOf(params));
      case 'setMyCommands':
        this.#commands.set(this.#keyOf(params), readCommands(params));
        return true;
      case 'deleteMyCommands':
        this.#commands.delete(this.#keyOf(params));
        return true;
      case 'getMyDescription':
        return { description: this.#textFor('description', params) };
      case 'setMyDescription':
        this.texts.set(textKeyOf('description', params), readText(params['description'], 512));
        return true;
      case 'getMyShortDescription':
        return { short_description: this.#textFor('short', params) };
      case 'setMyShortDescription':
        this.texts.set(textKeyOf('short', params), readText(params['short_description'], 120));
        return true;
      case 'getChatMenuButton':
        return this.menuButton;
      case 'setChatMenuButton':
        this.menuButton = readMenuButton(params['menu_button']);
        return true;
      default:
        return undefined;
    }
  }
}

/** Two letters, or none for everyone else. */
function readLanguage({ language_code: language }: Params): string {
  const code = textOf(language);
  if (code !== '' && !/^[a-z]{2}$/.test(code)) throw badRequest('invalid language code specified');
  return code;
}

function textKeyOf(kind: string, params: Params): string {
  return `${kind} ${readLanguage(params)}`.trim();
}

function readMenuButton(button: unknown): Params {
  const { type = 'default' } = (button ?? {}) as Params;
  if (!['commands', 'default', 'web_app'].includes(textOf(type)))
    throw badRequest('MenuButton has unsupported type');
  if (type !== 'web_app') return { type };
  const { text, web_app: app } = button as Params;
  const { url } = (app ?? {}) as Params;
  if (textOf(text) === '' || !textOf(url).startsWith('https:'))
    throw badRequest('invalid WebApp button specified');
  return { type, text, web_app: { url } };
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
