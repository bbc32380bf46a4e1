/** A person's client that encrypts, over the same library as Element: what it shows of an event is what the person reads. */
import { createCipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import {
  DecryptionSettings,
  DeviceId,
  DeviceLists,
  EncryptionSettings,
  initAsync,
  OlmMachine,
  RequestType,
  RoomId,
  TrustRequirement,
  UserId,
} from '@matrix-org/matrix-sdk-crypto-wasm';
import type { FakeHomeserver } from './homeserver.ts';
import type { FakeEvent, FakePerson, FakeRoom } from './rooms.ts';

interface Outgoing {
  id?: string | undefined;
  type?: RequestType;
  body: string;
  event_type?: string;
}

export class EncryptingClient {
  readonly person: FakePerson;
  readonly deviceId: string;
  readonly #server: FakeHomeserver;
  readonly #machine: OlmMachine;
  #since = 0;

  private constructor(server: FakeHomeserver, person: FakePerson, deviceId: string, machine: OlmMachine) {
    this.#server = server;
    this.person = person;
    this.deviceId = deviceId;
    this.#machine = machine;
  }

  static async open(
    server: FakeHomeserver,
    person: FakePerson,
    deviceId = 'PHONE',
  ): Promise<EncryptingClient> {
    await initAsync();
    const machine = await OlmMachine.initialize(new UserId(person.id), new DeviceId(deviceId));
    const client = new EncryptingClient(server, person, deviceId, machine);
    await client.#flush();
    return client;
  }

  /** Encrypts for everyone in the room, and sends. */
  async says(
    room: FakeRoom,
    content: Record<string, unknown> | string,
    recipients?: readonly string[],
  ): Promise<FakeEvent> {
    const clear = typeof content === 'string' ? { msgtype: 'm.text', body: content } : content;
    const joined = this.#server.rooms.joined(room).map(({ state_key: id = '' }) => id);
    const users = (): UserId[] => (recipients ?? joined).map((id) => new UserId(id));
    const [machine, id] = [this.#machine, (): RoomId => new RoomId(room.id)];
    await this.sync();
    await machine.updateTrackedUsers(users());
    await this.#flush();
    const claim = await machine.getMissingSessions(users());
    if (claim) await this.#make(claim);
    for (const share of await machine.shareRoomKey(id(), users(), new EncryptionSettings()))
      await this.#make(share);
    const encrypted = await machine.encryptRoomEvent(id(), 'm.room.message', JSON.stringify(clear));
    const sealed = JSON.parse(encrypted) as Record<string, unknown>;
    return this.#server.rooms.add(room, {
      type: 'm.room.encrypted',
      sender: this.person.id,
      content: sealed,
    });
  }

  /** Sends the keys of a room anew with the next message. */
  async forgetKeyOf(room: FakeRoom): Promise<void> {
    await this.#machine.invalidateGroupSession(new RoomId(room.id));
  }

  /** What the client shows of an event: its content in clear. Throws if it cannot be read. */
  async reads(room: FakeRoom, event: FakeEvent): Promise<Record<string, unknown>> {
    await this.sync();
    const settings = new DecryptionSettings(TrustRequirement.Untrusted);
    const shown = JSON.stringify(this.#server.rooms.shown(room, event));
    const { event: clear } = await this.#machine.decryptRoomEvent(shown, new RoomId(room.id), settings);
    return (JSON.parse(clear) as { content: Record<string, unknown> }).content;
  }

  /** The bot's messages in a room with their last edits, as this person reads them; those that cannot be read are null. */
  async screen(room: FakeRoom): Promise<(string | null)[]> {
    const own = room.events.filter(
      ({ type, sender }) => type === 'm.room.encrypted' && sender === this.#server.rooms.bot.id,
    );
    const lines = new Map<string, string | null>();
    for (const event of own) {
      if (event.redactedBy !== undefined) continue;
      const content = await this.reads(room, event).catch(() => undefined);
      const { rel_type: kind, event_id: about } = Object(content?.['m.relates_to']) as Record<string, string>;
      const fresh = Object(content?.['m.new_content']) as Record<string, string>;
      if (kind === 'm.replace' && about !== undefined) lines.set(about, fresh['body'] ?? null);
      else lines.set(event.event_id, content === undefined ? null : String(content['body']));
    }
    return [...lines.values()];
  }

  /** Gives the account cross-signing keys and a secret storage with them, as Element does; returns the recovery key. */
  async setUpRecovery(): Promise<string> {
    const { keys } = this.#server;
    const requests = await this.#machine.bootstrapCrossSigning(false);
    keys.setSigning(this.person.id, JSON.parse(requests.uploadSigningKeysRequest.body));
    keys.addSignatures(JSON.parse(requests.uploadSignaturesRequest.body));
    const exported = await this.#machine.exportCrossSigningKeys();
    const key = randomBytes(32);
    keys.accountData.set('m.secret_storage.default_key', { key: 'recovery' });
    const secrets = {
      master: exported?.masterKey,
      self_signing: exported?.self_signing_key,
      user_signing: exported?.userSigningKey,
    };
    for (const [name, secret = ''] of Object.entries(secrets)) {
      const type = `m.cross_signing.${name}`;
      keys.accountData.set(type, { encrypted: { recovery: sealedSecret(key, type, secret) } });
    }
    const prefixed = Buffer.concat([Buffer.of(0x8b, 0x01), key]);
    const parity = prefixed.reduce((sum, byte) => sum ^ byte, 0);
    return base58(Buffer.concat([prefixed, Buffer.of(parity)])).replaceAll(/.{4}(?=.)/g, '$& ');
  }

  /** Fetches what was sent to the device. */
  async sync(): Promise<void> {
    const { position } = this.#server.rooms;
    const { answer } = this.#server.keys.syncOf(this.person.id, this.deviceId, this.#since, position);
    const {
      to_device: inbox,
      device_lists: lists,
      device_one_time_keys_count: counts,
    } = answer as {
      to_device: { events: unknown[] };
      device_lists: { changed: string[] };
      device_one_time_keys_count: Record<string, number>;
    };
    this.#since = position;
    await this.#machine.receiveSyncChanges(
      JSON.stringify(inbox.events),
      new DeviceLists(lists.changed.map((id) => new UserId(id))),
      new Map(Object.entries(counts)),
      undefined,
      new DecryptionSettings(TrustRequirement.Untrusted),
    );
    await this.#flush();
  }

  async #flush(): Promise<void> {
    for (let requests = await this.#machine.outgoingRequests(); requests.length > 0;) {
      for (const request of requests) await this.#make(request);
      requests = await this.#machine.outgoingRequests();
    }
  }

  async #make({ id = '', type, body, event_type: eventType = '' }: Outgoing): Promise<void> {
    const { keys } = this.#server;
    const content: unknown = JSON.parse(body);
    const [userId, deviceId] = [this.person.id, this.deviceId];
    const answers: Partial<Record<RequestType, () => object>> = {
      [RequestType.KeysUpload]: () => keys.upload(userId, deviceId, content),
      [RequestType.KeysQuery]: () => keys.query(content),
      [RequestType.KeysClaim]: () => keys.claim(content),
      [RequestType.SignatureUpload]: () => keys.addSignatures(content),
      [RequestType.ToDevice]: () => keys.sendToDevice(userId, eventType, content),
    };
    const answer = type === undefined ? undefined : answers[type]?.();
    if (type === undefined || answer === undefined) throw new Error(`a request of type ${type}`);
    await this.#machine.markRequestAsSent(id, type, JSON.stringify(answer));
  }
}

/** "m.secret_storage.v1.aes-hmac-sha2". */
function sealedSecret(key: Buffer, name: string, secret: string): object {
  const derived = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(32), name, 64));
  const iv = randomBytes(16);
  // Bit 63 is 0, for implementations that count in 64 bits.
  iv.writeUInt8((iv[8] ?? 0) & 0x7f, 8);
  const cipher = createCipheriv('aes-256-ctr', derived.subarray(0, 32), iv);
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  const mac = createHmac('sha256', derived.subarray(32)).update(sealed).digest('base64');
  return { iv: iv.toString('base64'), ciphertext: sealed.toString('base64'), mac };
}

function base58(bytes: Buffer): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let text = '';
  for (let value = BigInt(`0x${bytes.toString('hex')}`); value > 0n; value /= 58n)
    text = `${alphabet[Number(value % 58n)]}${text}`;
  return text;
}
