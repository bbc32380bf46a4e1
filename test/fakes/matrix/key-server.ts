/**
 * What a homeserver keeps for encryption (client-server API, "End-to-End Encryption"): device keys, one-time keys that it gives away
 * once, cross-signing keys, and messages to devices until they are fetched ("Send-to-Device messaging").
 */
import { z } from 'zod';
import { Refusal } from './rooms.ts';

type Json = Record<string, unknown>;

const json = z.record(z.string(), z.unknown());
const byDevice = z.record(z.string(), json);
/** Keys are uploaded signed by their device ("Key algorithms"). */
const signed = z.looseObject({ signatures: z.record(z.string(), z.record(z.string(), z.string())) });

const Upload = z.strictObject({
  device_keys: signed.extend({ user_id: z.string(), device_id: z.string() }).optional(),
  one_time_keys: z.record(z.string().regex(/^signed_curve25519:/), signed).optional(),
  fallback_keys: z.record(z.string().regex(/^signed_curve25519:/), signed).optional(),
});
const Query = z.object({ device_keys: z.record(z.string(), z.array(z.string())) });
const Claim = z.object({
  one_time_keys: z.record(z.string(), z.record(z.string(), z.literal('signed_curve25519'))),
});
const ToDevice = z.object({ messages: z.record(z.string(), byDevice) });
const Signing = z.object({ master_key: json, self_signing_key: signed, user_signing_key: signed });

interface Device {
  keys: Json | undefined;
  oneTime: Map<string, Json>;
  fallback: Map<string, Json>;
  isFallbackUsed: boolean;
  inbox: { at: number; event: Json }[];
}

export class KeyServer {
  readonly #devices = new Map<string, Map<string, Device>>();
  readonly #signing = new Map<string, z.infer<typeof Signing>>();
  readonly #changedAt = new Map<string, number>();
  readonly #tick: () => number;
  /** Ids of one-time keys that were uploaded, and given away, by device. */
  readonly uploaded: string[] = [];
  readonly claimed: string[] = [];
  /** Account data of the bot. */
  readonly accountData = new Map<string, object>();
  /** The homeserver asks for a password before it takes cross-signing keys. */
  asksPassword = false;
  /** Messages to devices are held back until `release`. */
  holdsToDevice = false;

  /** `tick` moves the homeserver's position, and wakes its syncs. */
  constructor(tick: () => number) {
    this.#tick = tick;
  }

  deviceIds(userId: string): string[] {
    return [...(this.#devices.get(userId) ?? [])].flatMap(([id, { keys }]) =>
      keys === undefined ? [] : [id],
    );
  }

  /** Whether a device is signed by the self-signing key of its account. */
  isSigned(userId: string, deviceId: string): boolean {
    const [id] = Object.keys(Object(this.#signing.get(userId)?.self_signing_key['keys']));
    const signatures = Object(Object(this.#device(userId, deviceId).keys?.['signatures'])[userId]);
    return id !== undefined && id in signatures;
  }

  upload(userId: string, deviceId: string, body: unknown): object {
    const {
      device_keys: keys,
      one_time_keys: oneTime = {},
      fallback_keys: fallback = {},
    } = Upload.parse(body);
    const device = this.#device(userId, deviceId);
    if (keys !== undefined) {
      if (keys.user_id !== userId || keys.device_id !== deviceId) throw new Refusal(400, 'M_INVALID_PARAM');
      device.keys = keys;
      this.#changedAt.set(userId, this.#tick());
    }
    for (const [id, key] of Object.entries(oneTime)) {
      const before = device.oneTime.get(id);
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(key))
        throw new Refusal(400, 'M_UNKNOWN');
      if (before === undefined) this.uploaded.push(`${userId} ${deviceId} ${id}`);
      device.oneTime.set(id, key);
    }
    for (const [id, key] of Object.entries(fallback)) {
      device.fallback = new Map([[id, key]]);
      device.isFallbackUsed = false;
    }
    return { one_time_key_counts: { signed_curve25519: device.oneTime.size } };
  }

  query(body: unknown): object {
    const users = Object.keys(Query.parse(body).device_keys);
    const keysOf = (userId: string): [string, Json][] =>
      [...(this.#devices.get(userId) ?? [])].flatMap(([id, { keys }]) =>
        keys === undefined ? [] : [[id, keys]],
      );
    const signing = (name: keyof z.infer<typeof Signing>): object =>
      Object.fromEntries(
        users.flatMap((userId) => {
          const keys = this.#signing.get(userId)?.[name];
          return keys === undefined ? [] : [[userId, keys]];
        }),
      );
    return {
      failures: {},
      device_keys: Object.fromEntries(users.map((userId) => [userId, Object.fromEntries(keysOf(userId))])),
      master_keys: signing('master_key'),
      self_signing_keys: signing('self_signing_key'),
      user_signing_keys: signing('user_signing_key'),
    };
  }

  claim(body: unknown): object {
    const claims = Object.entries(Claim.parse(body).one_time_keys);
    const keys = claims.map(([userId, devices]): [string, object] => [
      userId,
      Object.fromEntries(Object.keys(devices).flatMap((deviceId) => this.#claimOne(userId, deviceId))),
    ]);
    return { failures: {}, one_time_keys: Object.fromEntries(keys) };
  }

  #claimOne(userId: string, deviceId: string): [string, Json][] {
    const device = this.#device(userId, deviceId);
    const [id, key] = [...device.oneTime][0] ?? [];
    if (id !== undefined && key !== undefined) {
      device.oneTime.delete(id);
      this.claimed.push(`${userId} ${deviceId} ${id}`);
      return [[deviceId, { [id]: key }]];
    }
    device.isFallbackUsed = true;
    return [...device.fallback].map(([fallbackId, fallback]) => [deviceId, { [fallbackId]: fallback }]);
  }

  sendToDevice(sender: string, type: string, body: unknown): object {
    for (const [userId, devices] of Object.entries(ToDevice.parse(body).messages))
      for (const [deviceId, content] of Object.entries(devices)) {
        const targets = deviceId === '*' ? this.deviceIds(userId) : [deviceId];
        const at = this.holdsToDevice ? Infinity : this.#tick();
        for (const target of targets)
          this.#device(userId, target).inbox.push({ at, event: { type, sender, content } });
      }
    return {};
  }

  release(): void {
    this.holdsToDevice = false;
    const at = this.#tick();
    for (const devices of this.#devices.values())
      for (const { inbox } of devices.values())
        for (const message of inbox) message.at = Math.min(message.at, at);
  }

  addSignatures(body: unknown): object {
    for (const [userId, devices] of Object.entries(z.record(z.string(), byDevice).parse(body)))
      for (const [deviceId, { signatures }] of Object.entries(devices)) {
        const { keys } = this.#devices.get(userId)?.get(deviceId) ?? {};
        if (keys === undefined) continue;
        const before = Object(keys['signatures']) as Record<string, object>;
        keys['signatures'] = {
          ...before,
          [userId]: { ...before[userId], ...Object(Object(signatures)[userId]) },
        };
        this.#changedAt.set(userId, this.#tick());
      }
    return { failures: {} };
  }

  /** The first keys of an account need no password ("POST /keys/device_signing/upload", since version 1.11). */
  setSigning(userId: string, body: unknown): object {
    if (this.asksPassword || this.#signing.has(userId))
      throw new Refusal(401, 'M_UNAUTHORIZED', {
        flows: [{ stages: ['m.login.password'] }],
        session: 'fake',
      });
    this.#signing.set(userId, Signing.parse(body));
    this.#changedAt.set(userId, this.#tick());
    return {};
  }

  /** What a sync of a device says about keys ("Extensions to /sync"); what it was told before `since` is forgotten. */
  syncOf(
    userId: string,
    deviceId: string,
    since: number,
    position: number,
  ): { isNew: boolean; answer: object } {
    const device = this.#device(userId, deviceId);
    device.inbox = device.inbox.filter(({ at }) => at > since);
    const events = device.inbox.filter(({ at }) => at <= position).map(({ event }) => event);
    const changed = [...this.#changedAt].flatMap(([user, at]) => (at > since && since > 0 ? [user] : []));
    return {
      isNew: events.length > 0 || changed.length > 0,
      answer: {
        to_device: { events },
        device_lists: { changed, left: [] },
        device_one_time_keys_count: { signed_curve25519: device.oneTime.size },
        device_unused_fallback_key_types:
          device.fallback.size > 0 && !device.isFallbackUsed ? ['signed_curve25519'] : [],
      },
    };
  }

  #device(userId: string, deviceId: string): Device {
    const devices = this.#devices.get(userId) ?? new Map<string, Device>();
    this.#devices.set(userId, devices);
    const empty = {
      keys: undefined,
      oneTime: new Map(),
      fallback: new Map(),
      isFallbackUsed: false,
      inbox: [],
    };
    const device = devices.get(deviceId) ?? empty;
    devices.set(deviceId, device);
    return device;
  }
}
