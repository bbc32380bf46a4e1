/** Where the sessions of a run are: over HTTP, in Telegram groups, Discord channels, Slack threads and Matrix rooms. */
import type { FakeDiscord } from '../fakes/discord/discord.ts';
import { visibleText } from '../fakes/discord/markdown.ts';
import { addressOf } from '../../src/protocol/message.ts';
import type { FakeHomeserver } from '../fakes/matrix/homeserver.ts';
import { type FakeSlack, textOf } from '../fakes/slack/slack.ts';
import type { FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { ShownMessage } from './judge/checker.ts';

/** How many sessions each channel has. */
export interface SessionCounts {
  http?: number;
  telegram?: number;
  discord?: number;
  slack?: number;
  matrix?: number;
}

/** One session. */
export interface Place {
  /** Counted from 0 across all channels. */
  session: number;
  /** `s03`, as the questions name it. */
  name: string;
  channel: 'http' | 'telegram' | 'discord' | 'slack' | 'matrix';
  /** The session key in the tables. */
  key: `${string}:${string}`;
  /** The platform's id of the chat; over HTTP the name. */
  chatId: string;
  /** On Slack, the thread that all users write in. */
  threadId?: string | undefined;
}

/** The platforms with their own chats. */
export interface Platforms {
  telegram: FakeTelegram;
  discord: FakeDiscord;
  slack: FakeSlack;
  matrix: FakeHomeserver;
}

/** Creates the chats of all sessions: those over HTTP first, then Telegram's, Discord's, Slack's and Matrix's. */
export function makePlaces(counts: SessionCounts, platforms: Platforms): Place[] {
  const channels = (['http', 'telegram', 'discord', 'slack', 'matrix'] as const).flatMap((channel) =>
    Array.from({ length: counts[channel] ?? 0 }, () => channel),
  );
  return channels.map((channel, session) => {
    const name = `s${String(session).padStart(2, '0')}`;
    const chatId = chatOf(channel, name, session, platforms);
    const threadId = channel === 'slack' ? threadOf(platforms.slack, chatId) : undefined;
    const key = addressOf({ channel, chatId, threadId });
    return { session, name, channel, key, chatId, threadId };
  });
}

function chatOf(
  channel: Place['channel'],
  name: string,
  session: number,
  { telegram, discord, slack, matrix }: Platforms,
): string {
  switch (channel) {
    case 'http':
      return name;
    case 'telegram': {
      const chatId = String(-1_000_000_000_000 - session);
      telegram.chats.open(chatId);
      return chatId;
    }
    case 'discord':
      return discord.platform.addChannel(0).id;
    case 'slack':
      return slack.workspace.channel().id;
    case 'matrix':
      return matrix.rooms.room(matrix.rooms.person('Ada'), matrix.rooms.person('Bob')).id;
    default:
      return channel satisfies never;
  }
}

/** A thread that was started an hour ago, before the bot joined. */
function threadOf({ workspace }: FakeSlack, chatId: string): string {
  const user = workspace.person('Somebody').id;
  const [seconds, rest = ''] = workspace.newTs().split('.');
  const ts = `${Number(seconds) - 3_600}.${rest}`;
  return workspace.add(workspace.chat(chatId), { user, text: 'A thread for everybody.', ts }).ts;
}

/** The groups of `config.json` in which the bot answers every message; `dm`: who may write in private. */
export function accessOf(places: readonly Place[], dm?: 'open'): object {
  const groups = (channel: string): object =>
    Object.fromEntries(
      places.filter((place) => place.channel === channel).map(({ chatId }) => [chatId, { mention: false }]),
    );
  const channels = ['telegram', 'discord', 'slack', 'matrix'];
  return Object.fromEntries(
    channels.map((channel) => [channel, { ...(dm && { dm }), groups: groups(channel) }]),
  );
}

/** The bot messages that each chat currently shows, by session key. */
export function screensOf(
  places: readonly Place[],
  { telegram, discord, slack, matrix }: Platforms,
): Map<string, ShownMessage[]> {
  const bot = discord.platform.bot.id;
  const shown = ({ channel, chatId, threadId }: Place): ShownMessage[] => {
    if (channel === 'telegram')
      return telegram.messages(chatId).map(({ id, text }) => ({ id: String(id), text }));
    if (channel === 'slack')
      return slack
        .visible(slack.workspace.chat(chatId))
        .filter((message) => message.threadTs === threadId)
        .map((message) => ({ id: message.ts, text: textOf(message) }));
    if (channel === 'matrix')
      return matrix.visible(matrix.rooms.find(chatId)).map(({ id, text }) => ({ id, text }));
    return (discord.platform.messages.get(chatId) ?? [])
      .filter(({ author }) => author.id === bot)
      .map(({ id, content }) => ({ id, text: visibleText(content) }));
  };
  return new Map(
    places.filter(({ channel }) => channel !== 'http').map((place) => [place.key, shown(place)]),
  );
}
