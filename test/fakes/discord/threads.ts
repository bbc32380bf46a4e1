/** Threads in the fake Discord: opened by the bot from messages, named by it, and opened by people as posts of forums. */
import type { FakeDiscord } from './discord.ts';
import { invalidForm } from './form.ts';
import { channelJson } from './json.ts';
import {
  type DiscordPlatform,
  type FakeChannel,
  type FakeMessage,
  type FakePerson,
  Refusal,
} from './platform.ts';
import type { Call, Route } from './route.ts';

const MAX_NAME = 100;
const AUTO_ARCHIVE_MINUTES = [60, 1_440, 4_320, 10_080];
const FLAG_HAS_THREAD = 1 << 5;
/** Message types: the line above a thread that was started from a message, and the note of a new name. */
const THREAD_STARTER = 21;
/** A channel accepts two new names in ten minutes. */
const MAX_NAMES = 2;
const NAMES_MS = 10 * 60_000;

export const THREAD_ROUTES: Route[] = [
  { method: 'POST', path: '/channels/:id/messages/:id/threads', effect: startThread },
  { method: 'PATCH', path: '/channels/:id', effect: nameThread },
  { method: 'GET', path: '/guilds/:id/threads/active', effect: activeThreads },
];

function nameIn(body: Record<string, unknown>): string {
  const { name } = body;
  if (typeof name === 'string' && name.trim() !== '' && name.length <= MAX_NAME) return name.trim();
  throw invalidForm('name', 'BASE_TYPE_BAD_LENGTH', `Must be between 1 and ${MAX_NAME} in length.`);
}

function startThread({ platform, ids: [channelId = '', id = ''], body }: Call): object {
  const channel = platform.channel(channelId);
  const message = platform.message(channelId, id);
  if (channel.type !== 0) throw new Refusal(400, 50_024, 'Cannot execute action on this channel type');
  if (channel.noThreads === true) throw new Refusal(403, 50_013, 'Missing Permissions');
  const { auto_archive_duration: minutes } = body;
  if (minutes !== undefined && !AUTO_ARCHIVE_MINUTES.includes(Number(minutes)))
    throw invalidForm('auto_archive_duration', 'BASE_TYPE_CHOICES', 'Value is not one of those allowed.');
  const name = nameIn(body);
  if ((message.flags & FLAG_HAS_THREAD) !== 0)
    throw new Refusal(400, 160_004, 'A thread has already been created for this message');
  return channelJson(openThread(platform, message, platform.bot, name));
}

/** A thread of a message of a text channel; it has the id of that message. */
export function openThread(
  platform: DiscordPlatform,
  message: FakeMessage,
  by: FakePerson,
  name: string,
): FakeChannel {
  message.flags |= FLAG_HAS_THREAD;
  const parent = platform.channel(message.channelId);
  const thread = platform.addThread(parent, { id: message.id, ownerId: by.id, name });
  platform.add(thread.id, by, '', { type: THREAD_STARTER, replyTo: message });
  return thread;
}

function nameThread({ platform, ids: [id = ''], body }: Call): object {
  const channel = platform.channel(id);
  const name = nameIn(body);
  if (channel.type !== 11 || channel.ownerId !== platform.bot.id)
    throw new Refusal(403, 50_013, 'Missing Permissions');
  const since = platform.now() - NAMES_MS;
  const recent = (channel.namedAt ?? []).filter((at) => at > since);
  if (recent.length >= MAX_NAMES)
    throw new Refusal(429, 0, 'You are being rate limited.', undefined, (recent[0] ?? 0) - since);
  channel.namedAt = [...recent, platform.now()];
  channel.name = name;
  return channelJson(channel);
}

function activeThreads({ platform, ids: [guildId = ''] }: Call): object {
  const threads = [...platform.channels.values()].filter(
    (one) => one.type === 11 && one.guildId === guildId && one.archived !== true,
  );
  return { threads: threads.map(channelJson), members: [] };
}

/** A person writes a post in a forum; the gateway dispatches its first message, which has the id of the thread. */
export function posts(discord: FakeDiscord, forum: FakeChannel, text: string, from: FakePerson): FakeMessage {
  const thread = discord.platform.addThread(forum, { ownerId: from.id, name: text.slice(0, MAX_NAME) });
  const message = discord.platform.add(thread.id, from, text, { id: thread.id });
  discord.deliver(message);
  return message;
}
