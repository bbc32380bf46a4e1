/** What the fake homeserver holds: people, rooms, their events in one order, and who is in them. */

export interface FakePerson {
  id: string;
  name: string;
}

export interface FakeEvent {
  /** Its position among all events of the homeserver: what tokens count. */
  at: number;
  room_id: string;
  event_id: string;
  type: string;
  sender: string;
  origin_server_ts: number;
  state_key?: string;
  content: Record<string, unknown>;
  redacts?: string;
  prev_content?: Record<string, unknown>;
  redactedBy?: string;
}

export interface FakeRoom {
  id: string;
  events: FakeEvent[];
  /** Newest state event by type and key. */
  state: Map<string, FakeEvent>;
  /** Users without power may no longer write. */
  closed?: boolean;
}

/** How a room is replaced: by default as Synapse does it. */
interface Upgrade {
  /** The room that the new one claims to replace. */
  predecessor?: string;
  /** Who may join. */
  joinRule?: 'public' | 'invite';
  /** The old room still accepts messages. */
  staysOpen?: boolean;
}

/** A refusal in the form a homeserver writes. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(status: number, errcode: string, more: Record<string, unknown> = {}) {
    super(errcode);
    this.status = status;
    this.body = { errcode, error: errcode, ...more };
  }
}

/** Events have at most this many bytes ("Size limits"), of which the homeserver itself needs some. */
const MAX_EVENT_BYTES = 65_536;
const OVERHEAD_BYTES = 3_000;
export const SERVER = 'fake.test:8448';
/** The device of the bot's token. */
export const DEVICE = 'FAKEDEVICE';

export class Rooms {
  readonly bot: FakePerson = { id: `@parley:${SERVER}`, name: 'Parley' };
  readonly rooms = new Map<string, FakeRoom>();
  readonly people = new Map<string, FakePerson>();
  /** Bytes by media id. */
  readonly media = new Map<string, { bytes: Buffer; mimeType: string; name: string }>();
  /** Events that the bot has marked as read. */
  readonly read: string[] = [];
  /** The newest position. */
  position = 0;
  readonly #now: () => number;
  readonly #changed: () => void;
  #ids = 0;

  /** Something but an event is new. */
  tick(): number {
    this.position += 1;
    this.#changed();
    return this.position;
  }

  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  person(name: string): FakePerson {
    const localpart = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
    const id = `@${localpart}:${SERVER}`;
    const known = this.people.get(id) ?? { id, name };
    this.people.set(id, known);
    return known;
  }

  /** A room that somebody created, with the bot in it; by default of the newest version. */
  created(by: FakePerson, how: Record<string, unknown> = {}, levels?: Record<string, unknown>): FakeRoom {
    const room = this.empty();
    const content = { room_version: '12', ...how };
    this.add(room, { type: 'm.room.create', sender: by.id, state_key: '', content });
    for (const person of [by, this.bot]) this.member(room, person, 'join');
    if (levels !== undefined) this.levels(room, by, levels);
    return room;
  }

  /** Changes who has which power. */
  levels(room: FakeRoom, by: FakePerson, content: Record<string, unknown>): FakeEvent {
    return this.add(room, { type: 'm.room.power_levels', sender: by.id, state_key: '', content });
  }

  /** A room of these people, with the bot in it. */
  room(...people: readonly FakePerson[]): FakeRoom {
    const room = this.empty();
    for (const person of [this.bot, ...people]) this.member(room, person, 'join');
    return room;
  }

  /** The room with this id. Throws if there is none. */
  find(roomId: string): FakeRoom {
    const room = this.rooms.get(roomId);
    if (room === undefined) throw new Error(`no room ${roomId}`);
    return room;
  }

  empty(): FakeRoom {
    // Half of the rooms are of version 12, whose ids name no server.
    const opaque = `room${this.rooms.size}-aZ_0`;
    const room: FakeRoom = {
      id: this.rooms.size % 2 === 1 ? `!${opaque}` : `!${opaque}:${SERVER}`,
      events: [],
      state: new Map(),
    };
    this.rooms.set(room.id, room);
    return room;
  }

  /** Someone replaces a room with another, which no one else is in at first. */
  upgrade(room: FakeRoom, by: FakePerson, how: Upgrade = {}): FakeRoom {
    const { predecessor = room.id, joinRule = 'public', staysOpen = false } = how;
    const fresh = this.empty();
    const create = { room_version: '11', predecessor: { room_id: predecessor } };
    this.add(fresh, { type: 'm.room.create', sender: by.id, state_key: '', content: create });
    this.member(fresh, by, 'join');
    const rules = { join_rule: joinRule };
    this.add(fresh, { type: 'm.room.join_rules', sender: by.id, state_key: '', content: rules });
    const content = { body: 'This room has been replaced', replacement_room: fresh.id };
    this.add(room, { type: 'm.room.tombstone', sender: by.id, state_key: '', content });
    room.closed = !staysOpen;
    return fresh;
  }

  /** Someone switches encryption on in a room (`m.room.encryption`). */
  encrypt(room: FakeRoom, by: FakePerson): FakeEvent {
    const content = { algorithm: 'm.megolm.v1.aes-sha2' };
    return this.add(room, { type: 'm.room.encryption', sender: by.id, state_key: '', content });
  }

  /** Changes someone's membership. */
  member(room: FakeRoom, person: FakePerson, membership: string, by = person, more: object = {}): FakeEvent {
    const content = { membership, displayname: person.name, ...more };
    return this.add(room, { type: 'm.room.member', sender: by.id, state_key: person.id, content });
  }

  membership(room: FakeRoom, userId: string): string {
    const membership = room.state.get(`m.room.member ${userId}`)?.content['membership'];
    return typeof membership === 'string' ? membership : 'leave';
  }

  joined(room: FakeRoom): FakeEvent[] {
    return [...room.state.values()].filter(
      ({ type, content }) => type === 'm.room.member' && content['membership'] === 'join',
    );
  }

  /** Adds an event as the homeserver does: checked, with an id, at the end. */
  add(
    room: FakeRoom,
    given: Pick<FakeEvent, 'type' | 'sender' | 'content' | 'redacts' | 'state_key'> & { ts?: number },
  ): FakeEvent {
    const { ts, ...event } = given;
    checkSize(given);
    checkRelation(room, given);
    const key = `${given.type} ${given.state_key ?? ''}`;
    const before = given.state_key === undefined ? undefined : room.state.get(key);
    this.position += 1;
    const added: FakeEvent = {
      ...event,
      at: this.position,
      room_id: room.id,
      event_id: `$${(this.#ids += 1)}-event_${'x'.repeat(30)}`,
      origin_server_ts: ts ?? this.#now(),
      ...(before !== undefined && { prev_content: before.content }),
    };
    room.events.push(added);
    if (given.state_key !== undefined) room.state.set(key, added);
    this.#changed();
    return added;
  }

  redact(room: FakeRoom, eventId: string, by: string): FakeEvent {
    const target = room.events.find(({ event_id }) => event_id === eventId);
    if (target === undefined) throw new Refusal(404, 'M_NOT_FOUND');
    if (target.sender !== by) throw new Refusal(403, 'M_FORBIDDEN');
    // Before room version 11, what it removes was not part of its content.
    const what = room.id.includes(':')
      ? { redacts: eventId, content: {} }
      : { content: { redacts: eventId } };
    const redaction = this.add(room, { type: 'm.room.redaction', sender: by, ...what });
    target.content = {};
    target.redactedBy = redaction.event_id;
    return redaction;
  }

  /** Someone's reactions to an event, oldest first. */
  reactionsOf(room: FakeRoom, eventId: string, by: string): string[] {
    return room.events.flatMap(({ type, sender, content }) => {
      const { event_id: about, key } = relationOf(content);
      return type === 'm.reaction' && sender === by && about === eventId ? [String(key)] : [];
    });
  }

  /** The newest edit of an event by its sender. */
  editOf(room: FakeRoom, { event_id, sender }: FakeEvent): FakeEvent | undefined {
    return room.events.findLast((event) => {
      const relation = relationOf(event.content);
      return (
        event.sender === sender && relation['rel_type'] === 'm.replace' && relation['event_id'] === event_id
      );
    });
  }

  /** An event as clients get it: with its last edit bundled, and `unsigned`. */
  shown(room: FakeRoom, event: FakeEvent): object {
    const { at: _at, prev_content: before, redactedBy, ...rest } = event;
    const edit = this.editOf(room, event);
    const bundled = edit === undefined ? {} : { 'm.relations': { 'm.replace': this.shown(room, edit) } };
    return {
      ...rest,
      unsigned: {
        age: this.#now() - event.origin_server_ts,
        ...bundled,
        ...(before && { prev_content: before }),
        ...(redactedBy !== undefined && { redacted_because: { event_id: redactedBy } }),
      },
    };
  }
}

/** Throws the refusal of an event that is too large. */
export function checkSize(event: object): void {
  if (Buffer.byteLength(JSON.stringify(event)) > MAX_EVENT_BYTES - OVERHEAD_BYTES)
    throw new Refusal(413, 'M_TOO_LARGE');
}

export function relationOf(content: Record<string, unknown>): Record<string, unknown> {
  return { ...Object(content['m.relates_to']) };
}

/** No thread begins at an event that relates to another, and an edit needs its new content ("Validation"). */
function checkRelation(room: FakeRoom, { type, content }: Pick<FakeEvent, 'type' | 'content'>): void {
  const { rel_type: kind, event_id: target } = relationOf(content);
  if (kind === undefined) return;
  const about = room.events.find(({ event_id }) => event_id === target);
  if (kind === 'm.thread' && (about === undefined || relationOf(about.content)['rel_type'] !== undefined))
    throw new Refusal(400, 'M_UNKNOWN');
  // What an encrypted edit contains, the homeserver cannot see.
  if (kind === 'm.replace' && type !== 'm.room.encrypted' && content['m.new_content'] === undefined)
    throw new Refusal(400, 'M_BAD_JSON');
}
