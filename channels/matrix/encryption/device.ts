/** The bot's device with its keys ("End-to-End Encryption"): loaded with the first encrypted room, because it takes 0.3 s of CPU time and 45 MB of memory. */
import { hkdfSync } from 'node:crypto';
import {
  DecryptionSettings,
  DeviceId,
  DeviceLists,
  EncryptionSettings,
  HistoryVisibility,
  initAsync,
  MegolmDecryptionError,
  OlmMachine,
  RequestType,
  RoomId,
  RoomSettings,
  StoreHandle,
  TrustRequirement,
  UserId,
} from '@matrix-org/matrix-sdk-crypto-wasm';
import { z } from 'zod';
import type { KeyStore } from '../../../src/protocol/channel.ts';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { KeyedLock } from '../../../src/lib/async/keyed-lock.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { CLIENT, type MatrixClient, pathOf } from '../client.ts';
import { failureOf, LOGGED_IN_ANEW, MISSING_KEY } from './failures.ts';
import { KeyDatabase, StaleKeys } from './key-database.ts';
import { readSigningKeys } from './recovery.ts';

/** Times an act is repeated because another process has changed the keys in between. */
const MAX_TRIES = 5;
/** Rounds of requests that the machine may want one after another: uploads, queries, then keys for what they revealed. */
const MAX_ROUNDS = 5;
/** Longest wait for the keys of other homeservers' people, in milliseconds: twice what homeservers wait themselves. */
const KEYS_MS = 20_000;

/** For how long a room's key counts as one of this process, in milliseconds, and for how many rooms: a week, after which the machine changes it anyway. */
const ROTATED_MS = 7 * 24 * 3_600_000;
const MAX_ROTATED = 5_000;
/** A flush waits for the one before it. */
const NEVER = new AbortController().signal;

/** Who the bot is on its homeserver. */
export interface OwnDevice {
  userId: string;
  deviceId: string;
}

interface OpenMachine {
  machine: OlmMachine;
  keys: KeyDatabase;
  /** Acts in progress. */
  users: number;
  isDiscarded: boolean;
}

/** A request that the machine wants made. */
interface MachineRequest {
  id?: string | undefined;
  type?: RequestType;
  body: string;
  event_type?: string;
  txn_id?: string;
}

/** Who may read what is sent to a room now. */
export interface Audience {
  roomId: string;
  userIds: readonly string[];
  historyVisibility: string;
}

/** What a sync says about keys ("Extensions to /sync"). */
export interface KeyChanges {
  toDevice: readonly unknown[];
  changed: readonly string[];
  left: readonly string[];
  /** One-time keys that are still on the homeserver, by algorithm. */
  counts: Readonly<Record<string, number>>;
  unusedFallbackKeys: readonly string[] | undefined;
}

const VISIBILITIES: Readonly<Record<string, HistoryVisibility>> = {
  invited: HistoryVisibility.Invited,
  joined: HistoryVisibility.Joined,
  world_readable: HistoryVisibility.WorldReadable,
};

interface DeviceParts {
  monotonicMs: () => number;
  client: MatrixClient;
  keys: KeyStore;
  /** Secret: the keys are sealed with it. */
  token: string;
  /** Secret. */
  recoveryKey?: string | undefined;
  log: Log;
  /** Keys of these rooms have arrived. */
  onKeys: (roomIds: readonly string[]) => void;
  /** Most keys of rooms that are stored. */
  maxRoomKeys: number;
  /** So many of them, the oldest, were removed. */
  onDropped: (count: number) => void;
}

const Queried = z.object({ device_keys: z.record(z.string(), z.record(z.string(), z.unknown())).catch({}) });

export class Device {
  readonly #own: OwnDevice;
  readonly #name: string;
  readonly #parts: DeviceParts;
  #opened: Promise<OpenMachine> | undefined;
  readonly #flushes = new KeyedLock();
  /** Rooms that have a key of this process. */
  readonly #rotated: TtlCache<true>;

  /** `name` is that of its keys in the store. */
  constructor(own: OwnDevice, name: string, parts: DeviceParts) {
    this.#own = own;
    this.#name = name;
    this.#parts = parts;
    this.#rotated = new TtlCache(ROTATED_MS, MAX_ROTATED, parts.monotonicMs);
  }

  /**
   * Acts with the machine as it is stored now. An act during which another process changed the keys is repeated as a
   * whole: nothing of it was stored. Throws `ChannelError`, `StoreError`.
   */
  async use<T>(act: (machine: OlmMachine) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const opening = (this.#opened ??= this.#open());
      try {
        const opened = await opening;
        if (opened.isDiscarded || (await opened.keys.isStale()) || opened.isDiscarded) {
          this.#discard(opening);
          continue;
        }
        return await this.#act(opened, act);
      } catch (error) {
        const opened = await opening.catch(() => undefined);
        const isStale = opened === undefined ? error instanceof StaleKeys : await opened.keys.isStale();
        if (isStale || opened === undefined) this.#discard(opening);
        if (isStale && attempt < MAX_TRIES) continue;
        throw error instanceof GatewayError ? error : failureOf(error);
      }
    }
  }

  /** Encrypts an event for the people of a room ("Sharing keys between devices"). Throws like `use`. */
  async encrypt(room: Audience, type: string, content: object): Promise<object> {
    const id = (): RoomId => new RoomId(room.roomId);
    const users = (): UserId[] => room.userIds.map((userId) => new UserId(userId));
    return await this.use(async (machine) => {
      await machine.updateTrackedUsers(users());
      await this.flush(machine);
      const claim = await machine.getMissingSessions(users());
      if (claim) await this.#request(machine, claim);
      if (this.#rotated.get(room.roomId) === undefined)
        await machine.setRoomSettings(id(), new RoomSettings());
      // A database that was restored from a backup has ratchets that were used since.
      if (this.#rotated.get(room.roomId) === undefined) await machine.invalidateGroupSession(id());
      this.#rotated.set(room.roomId, true);
      const settings = new EncryptionSettings();
      settings.historyVisibility = VISIBILITIES[room.historyVisibility] ?? HistoryVisibility.Shared;
      const shares = await machine.shareRoomKey(id(), users(), settings);
      for (const share of shares) await this.#request(machine, share);
      return JSON.parse(await machine.encryptRoomEvent(id(), type, JSON.stringify(content))) as object;
    });
  }

  /** Whether the bot has encrypted in a room before. Throws like `use`. */
  async knows(roomId: string): Promise<boolean> {
    return await this.use(
      async (machine) => (await machine.getRoomSettings(new RoomId(roomId))) !== undefined,
    );
  }

  /** The event in clear: its type and content; undefined while its key is missing. Throws like `use`, `rejected` for a forged event. */
  async decrypt(roomId: string, event: object): Promise<unknown> {
    try {
      return await this.use(async (machine) => {
        const decrypted = await machine.decryptRoomEvent(
          JSON.stringify({ ...event, room_id: roomId }),
          new RoomId(roomId),
          new DecryptionSettings(TrustRequirement.Untrusted),
        );
        return JSON.parse(decrypted.event) as unknown;
      });
    } catch (error) {
      const { cause } = error as Error;
      if (!(cause instanceof MegolmDecryptionError)) throw error;
      if (MISSING_KEY.has(cause.code)) return undefined;
      throw new ChannelError('rejected', `The Matrix event cannot be decrypted: ${cause.description}`);
    }
  }

  /** Takes from a sync what concerns keys; `isFirst`: devices may have changed unnoticed before it. Throws like `use`. */
  async takeSync(changes: KeyChanges, isFirst: boolean): Promise<void> {
    const { toDevice, changed, left, counts, unusedFallbackKeys } = changes;
    await this.use(async (machine) => {
      if (isFirst) await machine.markAllTrackedUsersAsDirty();
      await machine.receiveSyncChanges(
        JSON.stringify(toDevice),
        new DeviceLists(
          changed.map((one) => new UserId(one)),
          left.map((one) => new UserId(one)),
        ),
        new Map(Object.entries(counts)),
        unusedFallbackKeys && new Set(unusedFallbackKeys),
        new DecryptionSettings(TrustRequirement.Untrusted),
      );
    });
    if (toDevice.length > 0) await this.#trim();
  }

  /** Keys that are too old to be needed make room for new ones; a failure is only logged. Never throws. */
  async #trim(): Promise<void> {
    const { maxRoomKeys: most, log, onDropped } = this.#parts;
    try {
      const count = await this.use(async () => (await this.#opened)?.keys.trim(most) ?? 0);
      if (count === 0) return;
      log.warn({ count, most }, 'matrix_room_keys_dropped');
      onDropped(count);
    } catch (error) {
      log.warn({ err: error }, 'matrix_room_keys_not_dropped');
    }
  }

  /** Makes the requests that the machine wants made, one flush at a time. Throws `ChannelError`, `StoreError`. */
  async flush(machine: OlmMachine): Promise<void> {
    await this.#flushes.run('', NEVER, async () => {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const requests = await machine.outgoingRequests();
        if (requests.length === 0) return;
        for (const request of requests) await this.#request(machine, request);
      }
    });
  }

  /**
   * Publishes the keys, and signs the device with the keys of its account ("Cross-signing"), so that clients which send
   * only to verified devices send to it: with new keys if the account has none yet, otherwise with those that the
   * recovery key opens. Throws like `use`.
   */
  async publish(): Promise<void> {
    const self = (): UserId => new UserId(this.#own.userId);
    await this.use(async (machine) => {
      await machine.updateTrackedUsers([self()]);
      await this.flush(machine);
      const signatures =
        (await machine.getIdentity(self())) === undefined
          ? await this.#beginSigning(machine)
          : await this.#signWithRecovery(machine);
      if (signatures === undefined) return;
      await this.#request(machine, signatures);
      await machine.markAllTrackedUsersAsDirty();
      await this.flush(machine);
    });
  }

  /** Undefined if the homeserver does not take the keys. */
  async #beginSigning(machine: OlmMachine): Promise<MachineRequest | undefined> {
    const { uploadSigningKeysRequest: keys, uploadSignaturesRequest: signatures } =
      await machine.bootstrapCrossSigning(false);
    try {
      const body = JSON.parse(keys.body) as object;
      const path = pathOf(CLIENT, 'keys', 'device_signing', 'upload');
      await this.#parts.client.call('POST', path, { body, limit: 'keys' });
      return signatures;
    } catch (error) {
      // Homeservers before version 1.11 of the specification ask for the password.
      this.#parts.log.warn({ err: error }, 'matrix_device_not_signed');
      return undefined;
    }
  }

  /** Undefined if the device is signed, or cannot be. */
  async #signWithRecovery(machine: OlmMachine): Promise<MachineRequest | undefined> {
    const { client, log, recoveryKey } = this.#parts;
    const { userId, deviceId } = this.#own;
    const device = await machine.getDevice(new UserId(userId), new DeviceId(deviceId));
    if (device === undefined || device.isCrossSignedByOwner()) return undefined;
    if (recoveryKey === undefined) {
      log.warn({}, 'matrix_device_not_signed');
      return undefined;
    }
    try {
      const keys = await readSigningKeys(client, userId, recoveryKey);
      await machine.importCrossSigningKeys(keys.master, keys.selfSigning, keys.userSigning);
      return await device.verify();
    } catch (error) {
      log.error({ err: error }, 'matrix_recovery_failed');
      return undefined;
    }
  }

  /** Makes one request, and tells the machine what came of it. Throws `ChannelError`, `StoreError`. */
  async #request(machine: OlmMachine, request: MachineRequest): Promise<void> {
    const answer = JSON.stringify(await this.#call(request));
    const { id, type } = request;
    if (id !== undefined && type !== undefined) await machine.markRequestAsSent(id, type, answer);
  }

  /** Frees the machine; the next use opens it again. Never throws. */
  close(): void {
    if (this.#opened !== undefined) this.#discard(this.#opened);
  }

  async #act<T>(opened: OpenMachine, act: (machine: OlmMachine) => Promise<T>): Promise<T> {
    opened.users += 1;
    try {
      return await act(opened.machine);
    } finally {
      opened.users -= 1;
      release(opened);
    }
  }

  async #open(): Promise<OpenMachine> {
    const { keys: store, token, onKeys } = this.#parts;
    const { userId, deviceId } = this.#own;
    await initAsync();
    const keys = await KeyDatabase.fill(store, this.#name);
    try {
      if (keys.isNew) await this.#checkNew();
      const seal = new Uint8Array(hkdfSync('sha256', token, this.#name, 'parley matrix keys', 32));
      const handle = await StoreHandle.openWithKey(keys.prefix, seal).catch((error: unknown) => {
        throw new ChannelError('rejected', LOGGED_IN_ANEW, { cause: error });
      });
      await keys.settle();
      const machine = await OlmMachine.initFromStore(new UserId(userId), new DeviceId(deviceId), handle);
      machine.registerRoomKeyUpdatedCallback(async (rooms) => {
        onKeys([...new Set(rooms.map(({ roomId }) => roomId.toString()))]);
      });
      return { machine, keys, users: 0, isDiscarded: false };
    } catch (error) {
      keys.close();
      throw error;
    }
  }

  /** Other people's clients ignore a device that changes its keys. */
  async #checkNew(): Promise<void> {
    const { userId, deviceId } = this.#own;
    const body = { device_keys: { [userId]: [] } };
    const answer = await this.#parts.client.call('POST', pathOf(CLIENT, 'keys', 'query'), {
      body,
      limit: 'keys',
    });
    const devices = Queried.parse(answer).device_keys[userId] ?? {};
    if (devices[deviceId] !== undefined) throw new ChannelError('rejected', LOGGED_IN_ANEW);
  }

  async #call({
    type,
    body,
    event_type: eventType = '',
    txn_id: transaction = '',
  }: MachineRequest): Promise<unknown> {
    const content = JSON.parse(body) as object;
    const call = { body: content, silenceMs: KEYS_MS, limit: 'keys' };
    const { client } = this.#parts;
    switch (type) {
      case RequestType.KeysUpload:
        return await client.call('POST', pathOf(CLIENT, 'keys', 'upload'), call);
      case RequestType.KeysQuery:
        return await client.call('POST', pathOf(CLIENT, 'keys', 'query'), call);
      case RequestType.KeysClaim:
        return await client.call('POST', pathOf(CLIENT, 'keys', 'claim'), call);
      case RequestType.SignatureUpload:
        return await client.call('POST', pathOf(CLIENT, 'keys', 'signatures', 'upload'), call);
      case RequestType.ToDevice:
        return await client.call('PUT', pathOf(CLIENT, 'sendToDevice', eventType, transaction), call);
      default:
        // Verification and key backup begin only where someone asks the machine for them.
        throw new ChannelError(
          'rejected',
          'The encryption of Matrix asks for a request that Parley does not make.',
        );
    }
  }

  #discard(opening: Promise<OpenMachine>): void {
    if (this.#opened === opening) this.#opened = undefined;
    opening.then(
      (opened) => {
        if (opened.isDiscarded) return;
        opened.isDiscarded = true;
        release(opened);
      },
      () => undefined,
    );
  }
}

function release({ machine, keys, users, isDiscarded }: OpenMachine): void {
  if (!isDiscarded || users > 0) return;
  machine.close();
  keys.close();
}
