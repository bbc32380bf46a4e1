/** The bot's own name in what people write to it, which is no part of their text. Pure. */
import type { TelegramEntity } from './update.ts';

/** Who is named, and the names of the commands. */
interface NamedBot {
  id: string;
  name: string;
  commands: ReadonlySet<string>;
}

/**
 * `/stop@this_bot` becomes `/stop`, and `@this_bot what` becomes `what`; a command for another bot keeps its name, so that it
 * does not run here.
 */
export function withoutBotName(
  text: string,
  entities: TelegramEntity[],
  bot: NamedBot,
): { content: string; isCalled: boolean } {
  const rest = withoutMention(text, entities, bot);
  if (rest !== text) {
    const ownCommand = new RegExp(String.raw`^(/\w{1,64})@${bot.name}(?!\w)`, 'i');
    return { content: rest.replace(ownCommand, '$1'), isCalled: false };
  }
  const command = entities.find((entity) => entity.type === 'bot_command' && entity.offset === 0);
  if (!command) return { content: text, isCalled: false };
  const [name = '', addressee] = text.slice(0, command.length).split('@');
  if (addressee === undefined)
    return { content: text, isCalled: bot.commands.has(name.slice(1).toLowerCase()) };
  if (addressee.toLowerCase() !== bot.name.toLowerCase()) return { content: text, isCalled: false };
  return { content: name + text.slice(command.length), isCalled: true };
}

/** The text without the bot's name at its start. The name alone stays: it may refer to what is quoted. */
export function withoutMention(text: string, entities: readonly TelegramEntity[], bot: NamedBot): string {
  const named = entities.find(
    ({ type, offset, user }) => type === 'text_mention' && offset === 0 && user?.id === bot.id,
  );
  const name =
    named === undefined
      ? new RegExp(String.raw`^\s*@${bot.name}(?!\w)`, 'i').exec(text)?.[0]
      : text.slice(0, named.length);
  const rest = name === undefined ? text : text.slice(name.length).replace(/^[\s,:]+/, '');
  return rest === '' ? text : rest;
}
