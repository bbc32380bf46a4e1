/** Where the sessions of a run take place: over HTTP, in groups on Telegram, in channels on Discord. */
import type { FakeDiscord } from '../fakes/discord/discord.ts';
import { visibleText } from '../fakes/discord/markdown.ts';
import type { FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { ShownMessage } from './checker.ts';

/** How many sessions each channel has. */
export interface SessionCounts {
  http?: number;
  telegram?: number;
  discord?: number;
}

/** One session. */
export interface Place {
  /** Counted from 0 over all channels. */
  session: number;
  /** `s03`, as the questions name it. */
  name: string;
  channel: 'http' | 'telegram' | 'discord';
  /** The session's key in the tables. */
  key: `${string}:${string}`;
  /** The platform's id of the chat; over HTTP the name. */
  chatId: string;
}

/** Makes the chats of all sessions: those over HTTP first, then Telegram's, then Discord's. */
export function makePlaces(counts: SessionCounts, telegram: FakeTelegram, discord: FakeDiscord): Place[] {
  const channels = (['http', 'telegram', 'discord'] as const).flatMap((channel) =>
    Array.from({ length: counts[channel] ?? 0 }, () => channel),
  );
  return channels.map((channel, session) => {
    const name = `s${String(session).padStart(2, '0')}`;
    const chatId = chatOf(channel, name, session, telegram, discord);
    return { session, name, channel, key: `${channel}:${chatId}`, chatId };
  });
}

function chatOf(
  channel: Place['channel'],
  name: string,
  session: number,
  telegram: FakeTelegram,
  discord: FakeDiscord,
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
    default:
      return channel satisfies never;
  }
}

/** The groups of `config.json` in which the bot answers every message. */
export function accessOf(places: readonly Place[]): object {
  const groups = (channel: string): object =>
    Object.fromEntries(
      places.filter((place) => place.channel === channel).map(({ chatId }) => [chatId, { mention: false }]),
    );
  return { telegram: { groups: groups('telegram') }, discord: { groups: groups('discord') } };
}

/** The bot's messages that each chat shows now, by session key. */
export function screensOf(
  places: readonly Place[],
  telegram: FakeTelegram,
  discord: FakeDiscord,
): Map<string, ShownMessage[]> {
  const bot = discord.platform.bot.id;
  const shown = ({ channel, chatId }: Place): ShownMessage[] =>
    channel === 'telegram'
      ? telegram.messages(chatId).map(({ id, text }) => ({ id: String(id), text }))
      : (discord.platform.messages.get(chatId) ?? [])
          .filter(({ author }) => author.id === bot)
          .map(({ id, content }) => ({ id, text: visibleText(content) }));
  return new Map(
    places.filter(({ channel }) => channel !== 'http').map((place) => [place.key, shown(place)]),
  );
}
