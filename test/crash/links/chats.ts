/** The chats of one user in a run with linked chats: on every platform, private and not, and in a thread. */
import { PermissionFlagsBits } from 'discord.js';
import { addressOf } from '../../../src/protocol/message.ts';
import { visibleText } from '../../fakes/discord/markdown.ts';
import type { FakeChannel } from '../../fakes/discord/platform.ts';
import { textOf } from '../../fakes/slack/slack.ts';
import type { ShownMessage } from '../judge/checker.ts';
import type { Place, SessionCounts } from '../places.ts';
import type { Scenario } from '../scenario.ts';

export interface LinkedChat {
  address: `${string}:${string}`;
  /** The user writes there. */
  write: (text: string) => void;
  /** The user sends a command the way users of that platform do; `text` is its name with arguments, such as `link yes`. */
  command: (text: string) => void;
  /** The bot's messages there, oldest first. */
  screen: () => ShownMessage[];
}

/** A user's surfaces other than the page. */
export const CHATS_OF_A_PERSON = 7;

/** The groups and channels for the chats of this many users; the private ones are created with them. */
export function sessionsFor(people: number): SessionCounts {
  // Slack and Matrix are only turned on by theirs.
  return { telegram: people, discord: 2 * people, slack: 1, matrix: 1 };
}

/** The chats of the user with this number, who is an administrator of the groups among them. */
export function chatsOfPerson(scenario: Scenario, number: number): LinkedChat[] {
  const group = placeOf(scenario, 'telegram', number);
  const telegramId = String(5_000 + number);
  scenario.telegram.introduction.administrators.add(`${group.chatId} ${telegramId}`);
  return [
    telegramChat(scenario, telegramId, telegramId),
    telegramChat(scenario, group.chatId, telegramId),
    ...discordChats(scenario, number),
    slackChat(scenario, number),
    matrixChat(scenario, number),
  ];
}

function placeOf({ places }: Scenario, channel: Place['channel'], number: number): Place {
  const place = places.filter((one) => one.channel === channel)[number];
  if (place === undefined) throw new Error(`There is no place ${number} on ${channel}.`);
  return place;
}

function telegramChat({ telegram }: Scenario, chatId: string, from: string): LinkedChat {
  const write = (text: string): void => void telegram.says(chatId, text, from);
  return {
    address: `telegram:${chatId}`,
    write,
    command: (text) => write(`/${text}`),
    screen: () => telegram.messages(chatId).map(({ id, text }) => ({ id: String(id), text })),
  };
}

/** A direct message, a channel of the server, and a thread in another one. */
function discordChats(scenario: Scenario, number: number): LinkedChat[] {
  const { discord } = scenario;
  const { platform } = discord;
  const { channel: direct, person } = discord.dm(`Person ${number}`);
  person.roles = [platform.addRole(`Administrators ${number}`, PermissionFlagsBits.Administrator)];
  const [open, parent] = [0, 1].map((nth) => placeOf(scenario, 'discord', 2 * number + nth).chatId);
  const thread = platform.addThread(platform.channel(parent ?? ''), { ownerId: person.id, name: 'A thread' });
  const chat = (channel: FakeChannel, address: LinkedChat['address']): LinkedChat => {
    const write = (text: string): void => void discord.says(channel, text, person);
    return {
      address,
      write,
      command: (text) => write(`/${text}`),
      screen: () =>
        (platform.messages.get(channel.id) ?? [])
          .filter(({ author }) => author.id === platform.bot.id)
          .map(({ id, content }) => ({ id, text: visibleText(content) })),
    };
  };
  return [
    chat(direct, `discord:${direct.id}`),
    chat(platform.channel(open ?? ''), `discord:${open}`),
    chat(thread, `discord:${parent}:${thread.id}`),
  ];
}

function slackChat({ slack }: Scenario, number: number): LinkedChat {
  const { chat, person } = slack.workspace.dm(`Person ${number}`);
  return {
    address: `slack:${chat.id}`,
    write: (text) => void slack.says(chat, text, person),
    // Slack's own apps do not send a message that starts with a slash.
    command: (text) => void slack.commands(chat, text, person),
    screen: () => slack.visible(chat).map((message) => ({ id: message.ts, text: textOf(message) })),
  };
}

function matrixChat({ matrix }: Scenario, number: number): LinkedChat {
  const person = matrix.rooms.person(`Person ${number}`);
  const room = matrix.rooms.room(person);
  const write = (text: string): void => void matrix.says(room, text, person);
  return {
    address: addressOf({ channel: 'matrix', chatId: room.id }),
    write,
    command: (text) => write(`!${text}`),
    screen: () => matrix.visible(room).map(({ id, text }) => ({ id, text })),
  };
}
