/** Encrypted rooms: which they are, who may read them, and their events in clear. The device is loaded with the first one. */
import { z } from 'zod';
import type { KeyStore } from '../../../src/protocol/channel.ts';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { KeyedLock } from '../../../src/lib/async/keyed-lock.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { CLIENT, errcodeOf, type MatrixClient, pathOf } from '../client.ts';
import { type RawEvent, readEvent, readEvents, readMember, type SyncAnswer, USER_ID } from '../events.ts';
import type { Audience, Device, OwnDevice } from './device.ts';

/** How long facts about a room are remembered while no sync contradicts them, in milliseconds, and for how many rooms. */
const KNOWN_MS = 3_600_000;
const MAX_ROOMS = 2_000;

const WhoAmI = z.object({ user_id: z.string().regex(USER_ID), device_id: z.string().optional() });
const Algorithm = z.object({ algorithm: z.string() });
const Visibility = z.object({ history_visibility: z.string() });
const Members = z.object({ chunk: z.array(z.unknown()) });
const Clear = z.object({ type: z.string(), content: z.record(z.string(), z.unknown()) });

/**
 * Keys of rooms that are stored. Apps take a new key each week, or after 100 messages, so these read about two million
 * messages; they take about 40 MB of memory.
 */
export const MAX_ROOM_KEYS = 20_000;

interface EncryptionParts {
  client: MatrixClient;
  keys: KeyStore;
  /** Secret. */
  token: string;
  /** Secret. */
  recoveryKey?: string | undefined;
  log: Log;
  monotonicMs: () => number;
  maxRoomKeys: number;
}

export class Encryption {
  readonly #parts: EncryptionParts;
  readonly #encrypted: TtlCache<boolean>;
  readonly #audiences: TtlCache<Audience>;
  readonly #sends = new KeyedLock();
  readonly #closing = new AbortController();
  #device: Promise<Device> | undefined;
  /** There is an encrypted room, or was one before. */
  #isWanted = false;
  #counts = '';
  /** Keys of rooms that this process has removed, because there were too many. */
  droppedKeys = 0;
  /** What the operator should know; undefined while all is well, or nothing is encrypted. */
  health: ChannelHealth | undefined;
  /** A sync reports changes of rooms, so that they need not be read again for each message. */
  follows = false;
  /** Called when keys of rooms arrive. */
  onKeys: (roomIds: readonly string[]) => void = () => undefined;

  constructor(parts: EncryptionParts) {
    this.#parts = parts;
    this.#encrypted = new TtlCache(KNOWN_MS, MAX_ROOMS, parts.monotonicMs);
    this.#audiences = new TtlCache(KNOWN_MS, MAX_ROOMS, parts.monotonicMs);
  }

  /** Loads the device if it has been needed before: what others send to it must not pass by. Throws `ChannelError`, `StoreError`. */
  async resume(): Promise<void> {
    const own = await this.#own().catch((error: unknown) => {
      if (error instanceof ChannelError && !error.retryable) return undefined;
      throw error;
    });
    if (own !== undefined) this.#isWanted ||= (await this.#parts.keys.version(nameOf(own))) > 0;
  }

  /** Whether a room is encrypted: once the bot has encrypted there, always. Throws `ChannelError`, `StoreError`. */
  async isEncrypted(roomId: string): Promise<boolean> {
    const known = this.#encrypted.get(roomId);
    if (known === true || (known === false && this.follows)) return known;
    const path = pathOf(CLIENT, 'rooms', roomId, 'state', 'm.room.encryption', '');
    const content = await this.#parts.client.call('GET', path).catch((error: unknown) => {
      const code = errcodeOf(error);
      if (code === 'M_NOT_FOUND' || code === 'M_FORBIDDEN') return {};
      throw error;
    });
    // A homeserver that denies it may want to read along.
    const isEncrypted =
      Algorithm.safeParse(content).success || (this.#isWanted && (await this.#knows(roomId)));
    this.#encrypted.set(roomId, isEncrypted);
    return isEncrypted;
  }

  /** An event of a room's state: encryption is on, or others may read it from now on. */
  noteState(roomId: string, { type, state_key: key }: RawEvent): void {
    if (type === 'm.room.encryption' && key === '') this.noteEncrypted(roomId);
    if (type === 'm.room.member' || type === 'm.room.history_visibility') this.#audiences.delete(roomId);
  }

  noteEncrypted(roomId: string): void {
    this.#isWanted = true;
    this.#encrypted.set(roomId, true);
  }

  /** Lets others send keys to the bot, before it enters a room. Throws `ChannelError`, `StoreError`. */
  async prepare(): Promise<void> {
    this.#isWanted = true;
    await this.#load();
  }

  /** The content of an `m.room.encrypted` event. Throws `ChannelError`, `rejected` if the bot has no keys; `StoreError`. */
  async encrypt(roomId: string, type: string, content: object): Promise<object> {
    const device = await this.#load();
    const send = async (): Promise<object> =>
      await device.encrypt(await this.#audience(roomId), type, content);
    return await this.#sends.run(roomId, this.#closing.signal, send);
  }

  /**
   * An event in clear, with its last edit; unchanged if it is not encrypted; undefined while its key is missing. Throws
   * `ChannelError`, `rejected` for a forged event; `StoreError`.
   */
  async decrypt(roomId: string, event: RawEvent): Promise<RawEvent | undefined> {
    const edit = readEvent(event.unsigned?.['m.relations']?.['m.replace']);
    if (event.type !== 'm.room.encrypted' || !Algorithm.safeParse(event.content).success) return event;
    this.noteEncrypted(roomId);
    const device = await this.#load();
    const { data: clear } = Clear.safeParse(await device.decrypt(roomId, event));
    if (clear === undefined) return undefined;
    const fresh = edit && (await this.decrypt(roomId, edit).catch(unlessRejected));
    const unsigned = { ...event.unsigned, 'm.relations': fresh && { 'm.replace': fresh } };
    return { ...event, ...clear, unsigned };
  }

  /** Takes what a sync says about keys. Throws `ChannelError`, `StoreError` if it should be taken again. */
  async takeSync(answer: SyncAnswer, isFirst: boolean): Promise<void> {
    if (this.#isWanted) await this.#unlessUnavailable(this.#takeChanges(answer, isFirst));
  }

  async #takeChanges(answer: SyncAnswer, isFirst: boolean): Promise<void> {
    const { to_device: toDevice, device_lists: lists } = answer;
    const counts = answer.device_one_time_keys_count ?? {};
    const changes = {
      toDevice: toDevice?.events ?? [],
      changed: lists?.changed ?? [],
      left: lists?.left ?? [],
      counts,
      unusedFallbackKeys: answer.device_unused_fallback_key_types,
    };
    const state = JSON.stringify([counts, changes.unusedFallbackKeys]);
    const device = await this.#load();
    const isNew = [changes.toDevice, changes.changed, changes.left].some(({ length }) => length > 0);
    if (isNew || isFirst || state !== this.#counts) await device.takeSync(changes, isFirst);
    this.#counts = state;
    await device.use(async (machine) => await device.flush(machine));
  }

  /** Rooms without encryption work without a device as well. */
  async #unlessUnavailable(work: Promise<unknown>): Promise<void> {
    try {
      await work;
      this.health = undefined;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.retryable) throw error;
      this.#parts.log.error({ err: error }, 'matrix_encryption_unavailable');
      const detail = textRef('health.keys', { network: 'Matrix', variable: 'MATRIX_TOKEN' });
      this.health = { state: 'degraded', detail };
    }
  }

  /** Loads the device if a room needs it: the sooner, the fewer messages come without their key. Throws like `takeSync`. */
  async ensureDevice(): Promise<void> {
    if (this.#isWanted && this.#device === undefined) await this.#unlessUnavailable(this.#load());
  }

  /** Frees the device; it is loaded again when needed. Never throws. */
  close(): void {
    const device = this.#device;
    this.#device = undefined;
    device?.then(
      (loaded) => loaded.close(),
      () => undefined,
    );
  }

  async #knows(roomId: string): Promise<boolean> {
    const device = await this.#load().catch(unlessRejected);
    return device !== undefined && (await device.knows(roomId));
  }

  async #load(): Promise<Device> {
    return await (this.#device ??= this.#open().catch((error: unknown) => {
      this.#device = undefined;
      throw error;
    }));
  }

  async #open(): Promise<Device> {
    const own = await this.#own();
    const { Device } = await import('./device.ts');
    const device = new Device(own, nameOf(own), {
      ...this.#parts,
      onKeys: (rooms) => this.onKeys(rooms),
      onDropped: (count) => (this.droppedKeys += count),
    });
    await device.publish();
    return device;
  }

  async #own(): Promise<OwnDevice> {
    const answer = await this.#parts.client.call('GET', pathOf(CLIENT, 'account', 'whoami'));
    const { user_id: userId, device_id: deviceId } = WhoAmI.parse(answer);
    if (deviceId !== undefined) return { userId, deviceId };
    throw new ChannelError(
      'rejected',
      'The Matrix token belongs to no device, so the bot has no keys: log the bot in (docs/matrix.md) and set MATRIX_TOKEN to that token.',
    );
  }

  /** Everyone who may read what is sent now: invited people only where they may read it later ("History visibility"). */
  async #audience(roomId: string): Promise<Audience> {
    const known = this.follows ? this.#audiences.get(roomId) : undefined;
    if (known !== undefined) return known;
    const { client } = this.#parts;
    const room = pathOf(CLIENT, 'rooms', roomId);
    const answer = await client.call('GET', `${room}/members`, { query: { not_membership: 'leave' } });
    const state = await client
      .call('GET', `${room}/state/m.room.history_visibility/`)
      .catch((error: unknown) => {
        if (errcodeOf(error) === 'M_NOT_FOUND') return {};
        throw error;
      });
    const historyVisibility = Visibility.safeParse(state).data?.history_visibility ?? 'shared';
    const memberships = historyVisibility === 'joined' ? ['join'] : ['join', 'invite'];
    const userIds = readEvents(Members.parse(answer).chunk).flatMap((event) => {
      const member = readMember(event);
      return member !== undefined && memberships.includes(member.membership) ? [member.userId] : [];
    });
    const audience = { roomId, userIds, historyVisibility };
    this.#audiences.set(roomId, audience);
    return audience;
  }
}

/** The name under which the keys of a device are stored. */
function nameOf({ userId, deviceId }: OwnDevice): string {
  return `matrix:${userId} ${deviceId}`;
}

function unlessRejected(error: unknown): undefined {
  if (error instanceof ChannelError && error.code === 'rejected') return undefined;
  throw error;
}
