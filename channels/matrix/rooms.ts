/** What is known about rooms: who reads there, who administers them, and which others they have replaced. */
import { z } from 'zod';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { clipEnd, oneLine } from '../../src/lib/text.ts';
import { CLIENT, errcodeOf, type MatrixClient, pathOf } from './client.ts';
import { localpartOf, type RawEvent, readEvents, readMember, ROOM_ID, ROOM_NAME } from './events.ts';

/** How long an unchanged fact is remembered, in milliseconds, and for how many rooms and people. */
const KNOWN_MS = 3_600_000;
export const MAX_ROOMS = 2_000;
export const MAX_NAMES = 5_000;
/** A room with more members is not counted again after each change: it will not become private. */
const MANY = 20;
const MAX_NAME = 80;

const Joined = z.object({ joined: z.record(z.string(), z.unknown()) });
const Member = z.object({ displayname: z.string().nullish() });
const Name = z.object({ name: z.string() });

/** Whether several people read a room, and people's names: requested when needed, and again after a change. */
export class Rooms {
  readonly #client: MatrixClient;
  readonly #replacements: Replacements;
  readonly #counts: TtlCache<number>;
  readonly #names: TtlCache<string>;
  /** The names of rooms; '' for a room without one. */
  readonly #titles: TtlCache<string>;

  constructor(client: MatrixClient, replacements: Replacements, epochNow: () => number) {
    this.#client = client;
    this.#replacements = replacements;
    this.#counts = new TtlCache(KNOWN_MS, MAX_ROOMS, epochNow);
    this.#names = new TtlCache(KNOWN_MS, MAX_NAMES, epochNow);
    this.#titles = new TtlCache(KNOWN_MS, MAX_ROOMS, epochNow);
  }

  /** The name that a room was given; undefined without one. Throws `ChannelError`. */
  async titleOf(roomId: string): Promise<string | undefined> {
    const title = this.#titles.get(roomId) ?? (await this.#readTitle(roomId));
    this.#titles.set(roomId, title);
    return title || undefined;
  }

  /** The room has another name. */
  renamed(roomId: string): void {
    this.#titles.delete(roomId);
  }

  /** A room is private if it and those it replaces contain one person and the bot at most. Throws `ChannelError`. */
  async placeOf(roomId: string): Promise<InboundMessage['place']> {
    const count = this.#counts.get(roomId) ?? (await this.#count(roomId));
    return count <= 2 ? 'private' : 'group';
  }

  /** The name of a person in a room; part of their id if they have none. Throws `ChannelError`. */
  async nameOf(roomId: string, userId: string): Promise<string> {
    const key = `${roomId} ${userId}`;
    const cachedName = this.#names.get(key);
    if (cachedName !== undefined) return cachedName;
    const name = await this.#readName(roomId, userId);
    this.#names.set(key, name);
    return name;
  }

  /** Someone joined, left or changed their name. */
  changed(roomId: string, userId: string): void {
    this.#names.delete(`${roomId} ${userId}`);
    if ((this.#counts.get(roomId) ?? 0) < MANY) this.#counts.delete(roomId);
  }

  async #count(roomId: string): Promise<number> {
    let count = await this.#joined(roomId);
    const predecessor = count > 2 ? undefined : await this.#replacements.predecessorOf(roomId);
    if (predecessor !== undefined)
      count = Math.max(count, await this.#joined(predecessor).catch(unlessOutside));
    this.#counts.set(roomId, count);
    return count;
  }

  async #joined(roomId: string): Promise<number> {
    const answer = await this.#client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'joined_members'));
    // A room that cannot be read counts as one with several people: the bot answers there only where it was
    // allowed.
    return Object.keys(Joined.safeParse(answer).data?.joined ?? { one: 1, two: 2, three: 3 }).length;
  }

  async #readTitle(roomId: string): Promise<string> {
    const answer = await this.#stateOf(roomId, ROOM_NAME, '');
    return clipEnd(oneLine(Name.safeParse(answer).data?.name ?? ''), MAX_NAME);
  }

  async #readName(roomId: string, userId: string): Promise<string> {
    const answer = await this.#stateOf(roomId, 'm.room.member', userId);
    const name = oneLine(Member.safeParse(answer).data?.displayname ?? '');
    return name === '' ? localpartOf(userId) : clipEnd(name, MAX_NAME);
  }

  /** The content of a state event; empty for one that does not exist, or that the bot may not see. */
  async #stateOf(roomId: string, type: string, key: string): Promise<unknown> {
    const path = pathOf(CLIENT, 'rooms', roomId, 'state', type, key);
    return await this.#client.call('GET', path).catch((error: unknown) => {
      const code = errcodeOf(error);
      if (code === 'M_NOT_FOUND' || code === 'M_FORBIDDEN') return {};
      throw error;
    });
  }
}

/** The bot does not count the members of a room that it is not in. */
function unlessOutside(error: unknown): number {
  if (error instanceof ChannelError && !error.retryable) return 0;
  throw error;
}

/** The power of moderators, which changing a room's state needs unless it says otherwise. */
const MODERATOR = 50;
/** From this version on, creators have more power than any number ("Room version 12"). */
const PRIVILEGED_CREATORS = 12;

/** Rooms before version 10 may write numbers as strings. */
const level = z.union([
  z.int(),
  z
    .string()
    .regex(/^\s*[+-]?\d{1,15}\s*$/)
    .transform(Number),
]);

const PowerLevels = z.object({
  users: z.record(z.string(), level).optional().catch(undefined),
  users_default: level.optional().catch(undefined),
  state_default: level.optional().catch(undefined),
});

const Create = z.object({
  room_version: z.string().catch('1'),
  additional_creators: z.array(z.string()).catch([]),
});

/** Whether a person may change the room's `state`, and is a moderator. A level that is no number counts as absent. */
export function isAdministrator(state: readonly RawEvent[], userId: string): boolean {
  const find = (type: string): RawEvent | undefined =>
    state.find((event) => event.type === type && event.state_key === '');
  const created = find('m.room.create');
  const levels = PowerLevels.safeParse(find('m.room.power_levels')?.content).data;
  if (created !== undefined && isPrivileged(created, userId)) return true;
  // Where no levels are named, the creator alone has power.
  if (levels === undefined) return created?.sender === userId;
  const power = levels.users?.[userId] ?? levels.users_default ?? 0;
  return power >= Math.max(MODERATOR, levels.state_default ?? MODERATOR);
}

function isPrivileged({ sender, content }: RawEvent, userId: string): boolean {
  const { room_version: version, additional_creators: others } = Create.parse(content);
  const isCreator = sender === userId || others.includes(userId);
  return isCreator && /^\d{1,4}$/.test(version) && Number(version) >= PRIVILEGED_CREATORS;
}

/** How long it is remembered whether and where a room continues, in milliseconds, and for how many rooms. */
const REPLACED_MS = 3_600_000;
const MAX_REPLACED = 2_000;
/** Maximum number of consecutive replacements that are followed at once. */
export const MAX_MOVES = 5;
const TOMBSTONE = 'm.room.tombstone';

const Tombstone = z.object({ replacement_room: z.string().regex(ROOM_ID) });
const Predecessor = z.object({
  predecessor: z
    .object({ room_id: z.string().regex(ROOM_ID) })
    .optional()
    .catch(undefined),
});

/** The content of a tombstone. */
export interface NamedRoom {
  roomId: string;
  by: string;
}

/** Rooms that others have replaced ("Room upgrades"): trusted if the old room and the new one confirm each other. */
export class Replacements {
  readonly #client: MatrixClient;
  /** The room where each room continues: its own id if it was not replaced. */
  readonly #continued: TtlCache<string>;

  constructor(client: MatrixClient, monotonicMs: () => number) {
    this.#client = client;
    this.#continued = new TtlCache(REPLACED_MS, MAX_REPLACED, monotonicMs);
  }

  /** A room has changed: forgets it, so that it is requested again. */
  forgetRoom(roomId: string): void {
    this.#continued.delete(roomId);
  }

  /** Throws `ChannelError`: `chat_moved` for a room that the bot has to leave for another, or the error of the request. */
  async check(roomId: string): Promise<void> {
    let movedTo = this.#continued.get(roomId);
    if (movedTo === undefined) {
      movedTo = await this.#last(roomId);
      this.#continued.set(roomId, movedTo);
    }
    if (movedTo !== roomId)
      throw new ChannelError('chat_moved', 'The Matrix room was replaced.', { movedTo });
  }

  /** The room that a tombstone names, if its author is still there; undefined without one. Throws `ChannelError`. */
  async namedBy(roomId: string): Promise<NamedRoom | undefined> {
    const content = await this.#state(roomId, TOMBSTONE, '');
    const to = Tombstone.safeParse(content).data?.replacement_room;
    if (to === undefined || to === roomId) return undefined;
    // Only the full state reveals who wrote it.
    const events = readEvents(await this.#state(roomId));
    const by = events.find(({ type, state_key: key }) => type === TOMBSTONE && key === '')?.sender;
    const isThere = events.some((event) => {
      const member = readMember(event);
      return member !== undefined && member.userId === by && member.membership === 'join';
    });
    return by !== undefined && isThere ? { roomId: to, by } : undefined;
  }

  /** Whether a room says that it replaces the other; undefined if the bot is not in it. Throws `ChannelError`. */
  async replaces(roomId: string, oldRoomId: string): Promise<boolean | undefined> {
    const create = await this.#create(roomId);
    return create && create.predecessor?.room_id === oldRoomId;
  }

  /** The room that a room says it replaces; that room need not confirm it. Throws `ChannelError`. */
  async predecessorOf(roomId: string): Promise<string | undefined> {
    return (await this.#create(roomId))?.predecessor?.room_id;
  }

  async #create(roomId: string): Promise<z.infer<typeof Predecessor> | undefined> {
    return Predecessor.safeParse(await this.#state(roomId, 'm.room.create', '')).data;
  }

  async #last(roomId: string): Promise<string> {
    let last = roomId;
    for (let move = 0; move < MAX_MOVES; move += 1) {
      const successor = await this.namedBy(last);
      if (successor === undefined || (await this.replaces(successor.roomId, last)) !== true) break;
      last = successor.roomId;
    }
    return last;
  }

  /** Undefined for state that does not exist, or that the bot may not see. */
  async #state(roomId: string, ...key: [] | [type: string, key: string]): Promise<unknown> {
    try {
      return await this.#client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'state', ...key));
    } catch (error) {
      if (!(error instanceof ChannelError) || error.retryable) throw error;
      return undefined;
    }
  }
}
