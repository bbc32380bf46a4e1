/**
 * What is known about rooms: whether several people read there, and people's names. Requested when needed, and again
 * after a change.
 */
import { z } from 'zod';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { clipEnd, oneLine } from '../../../src/lib/text.ts';
import { CLIENT, type MatrixClient, pathOf } from '../client.ts';
import { errcodeOf } from '../errors.ts';
import { localpartOf } from '../ids.ts';
import type { Replacements } from '../replacements.ts';

/** How long an unchanged fact is remembered, in milliseconds, and for how many rooms and people. */
const KNOWN_MS = 3_600_000;
export const MAX_ROOMS = 2_000;
export const MAX_NAMES = 5_000;
/** A room with more members is not counted again after each change: it will not become private. */
const MANY = 20;
const MAX_NAME = 80;

const Joined = z.object({ joined: z.record(z.string(), z.unknown()) });
const Member = z.object({ displayname: z.string().nullish() });

export interface RoomsParts {
  client: Pick<MatrixClient, 'call'>;
  replacements: Pick<Replacements, 'predecessorOf'>;
  epochNow: () => number;
}

export class Rooms {
  readonly #client: Pick<MatrixClient, 'call'>;
  readonly #replacements: RoomsParts['replacements'];
  readonly #counts: Recent<number>;
  readonly #names: Recent<string>;

  constructor({ client, replacements, epochNow }: RoomsParts) {
    this.#client = client;
    this.#replacements = replacements;
    this.#counts = new Recent(KNOWN_MS, MAX_ROOMS, epochNow);
    this.#names = new Recent(KNOWN_MS, MAX_NAMES, epochNow);
  }

  /**
   * A room is private while it contains only one person and the bot, and so does the room that it replaces: people
   * move over one by one. Throws `ChannelError`.
   */
  async placeOf(roomId: string): Promise<InboundMessage['place']> {
    const count = this.#counts.get(roomId) ?? (await this.#count(roomId));
    return count <= 2 ? 'private' : 'group';
  }

  /** The name of a person in a room; part of their id if they have none. Throws `ChannelError`. */
  async nameOf(roomId: string, userId: string): Promise<string> {
    const key = `${roomId} ${userId}`;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = await this.#ask(roomId, userId);
    this.#names.set(key, name);
    return name;
  }

  /** Someone joined, left or changed their name. */
  changed(roomId: string, userId: string): void {
    this.#names.delete(`${roomId} ${userId}`);
    if ((this.#counts.get(roomId) ?? 0) < MANY) this.#counts.delete(roomId);
  }

  async #count(roomId: string): Promise<number> {
    const here = await this.#joined(roomId);
    const before = here > 2 ? undefined : await this.#replacements.predecessorOf(roomId);
    const count =
      before === undefined ? here : Math.max(here, await this.#joined(before).catch(unlessOutside));
    this.#counts.set(roomId, count);
    return count;
  }

  async #joined(roomId: string): Promise<number> {
    const answer = await this.#client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'joined_members'));
    // A room that cannot be read counts as one with several people: the bot answers there only where it was
    // allowed.
    return Object.keys(Joined.safeParse(answer).data?.joined ?? { one: 1, two: 2, three: 3 }).length;
  }

  async #ask(roomId: string, userId: string): Promise<string> {
    const path = pathOf(CLIENT, 'rooms', roomId, 'state', 'm.room.member', userId);
    const answer = await this.#client.call('GET', path).catch((error: unknown) => {
      const code = errcodeOf(error);
      if (code === 'M_NOT_FOUND' || code === 'M_FORBIDDEN') return {};
      throw error;
    });
    const name = oneLine(Member.safeParse(answer).data?.displayname ?? '');
    return name === '' ? localpartOf(userId) : clipEnd(name, MAX_NAME);
  }
}

/** The bot does not count the members of a room that it is not in. */
function unlessOutside(error: unknown): number {
  if (error instanceof ChannelError && !error.retryable) return 0;
  throw error;
}
