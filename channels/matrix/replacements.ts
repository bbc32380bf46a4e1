/** Rooms that others have replaced ("Room upgrades"): trusted if the old room and the new one confirm each other. */
import { z } from 'zod';
import { ChannelError } from '../../src/protocol/errors.ts';
import { Recent } from '../../src/lib/recent.ts';
import { CLIENT, type MatrixClient, pathOf } from './client.ts';
import { readEvents, readMember } from './events.ts';
import { ROOM_ID } from './ids.ts';

/** How long it is remembered whether and where a room continues, in milliseconds, and for how many rooms. */
const KNOWN_MS = 3_600_000;
const MAX_ROOMS = 2_000;
/** Maximum number of consecutive replacements that are followed at once. */
export const MAX_MOVES = 5;

const TOMBSTONE = 'm.room.tombstone';
const Tombstone = z.object({ replacement_room: z.string().regex(ROOM_ID) });
const Create = z.object({
  predecessor: z
    .object({ room_id: z.string().regex(ROOM_ID) })
    .optional()
    .catch(undefined),
});

/** The content of a tombstone. */
export interface NamedRoom {
  roomId: string;
  /** The author of the tombstone. */
  by: string;
}

export class Replacements {
  readonly #client: Pick<MatrixClient, 'call'>;
  /** The room where each room continues: its own id if it was not replaced. */
  readonly #known: Recent<string>;

  constructor({ client, monotonicMs }: { client: Pick<MatrixClient, 'call'>; monotonicMs: () => number }) {
    this.#client = client;
    this.#known = new Recent(KNOWN_MS, MAX_ROOMS, monotonicMs);
  }

  /** A room has changed: forgets it, so that it is requested again. */
  forgetRoom(roomId: string): void {
    this.#known.delete(roomId);
  }

  /** Throws `ChannelError`: `chat_moved` for a room that the bot has to leave for another, or the error of the request. */
  async check(roomId: string): Promise<void> {
    let movedTo = this.#known.get(roomId);
    if (movedTo === undefined) {
      movedTo = await this.#last(roomId);
      this.#known.set(roomId, movedTo);
    }
    if (movedTo !== roomId)
      throw new ChannelError('chat_moved', 'The Matrix room was replaced.', { movedTo });
  }

  /**
   * The room that a tombstone names, if the author of the tombstone is still there; undefined without one. Throws
   * `ChannelError`.
   */
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
  async replaces(roomId: string, before: string): Promise<boolean | undefined> {
    const create = await this.#create(roomId);
    return create && create.predecessor?.room_id === before;
  }

  /** The room that a room says it replaces; that room need not confirm it. Throws `ChannelError`. */
  async predecessorOf(roomId: string): Promise<string | undefined> {
    return (await this.#create(roomId))?.predecessor?.room_id;
  }

  async #create(roomId: string): Promise<z.infer<typeof Create> | undefined> {
    return Create.safeParse(await this.#state(roomId, 'm.room.create', '')).data;
  }

  /** The last room in a chain of replacements. */
  async #last(roomId: string): Promise<string> {
    let last = roomId;
    for (let move = 0; move < MAX_MOVES; move += 1) {
      const named = await this.namedBy(last);
      if (named === undefined || (await this.replaces(named.roomId, last)) !== true) break;
      last = named.roomId;
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
