/** The client-server API of the fake homeserver, as far as bots use it: each route with what it refuses. */
import { z } from 'zod';
import { readHtml } from './html.ts';
import type { KeyServer } from './key-server.ts';
import {
  checkSize,
  DEVICE,
  type FakeEvent,
  type FakeRoom,
  Refusal,
  relationOf,
  type Rooms,
  SERVER,
} from './rooms.ts';

export interface ApiCall {
  rooms: Rooms;
  keys: KeyServer;
  /** Parts of the path, unescaped. */
  parts: readonly string[];
  query: URLSearchParams;
  body: unknown;
  bytes: Buffer;
  contentType: string;
  /** Events by transaction, of the one device that the token belongs to. */
  transactions: Map<string, string>;
  typing: (roomId: string) => void;
}

export interface Route {
  method: string;
  path: RegExp;
  /** The limit that it counts against. */
  limit?: 'send' | 'join';
  answer: (call: ApiCall) => object;
}

const V3 = String.raw`^/_matrix/client/v3`;

const Button = z.strictObject({ label: z.string(), value: z.string(), style: z.string() });
const Shown = z.object({
  msgtype: z.string(),
  body: z.string().min(1),
  format: z.literal('org.matrix.custom.html').optional(),
  formatted_body: z.string().optional(),
  'm.mentions': z.object({ user_ids: z.array(z.string()).optional() }),
  'parley.buttons': z.array(Button).max(25).optional(),
  url: z
    .string()
    .regex(/^mxc:\/\/[^/]+\/[A-Za-z0-9_-]+$/)
    .optional(),
  filename: z.string().optional(),
});

/** Nothing but what a relation says is in clear ("m.megolm.v1.aes-sha2"). */
const Encrypted = z.strictObject({
  algorithm: z.literal('m.megolm.v1.aes-sha2'),
  ciphertext: z.string(),
  session_id: z.string(),
  sender_key: z.string().optional(),
  device_id: z.string().optional(),
  'm.relates_to': z.record(z.string(), z.unknown()).optional(),
});

const Reaction = z.strictObject({
  'm.relates_to': z.strictObject({
    rel_type: z.literal('m.annotation'),
    event_id: z.string(),
    key: z.string().min(1),
  }),
});

export const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: new RegExp(`${V3}/account/whoami$`),
    answer: ({ rooms }) => ({ user_id: rooms.bot.id, device_id: DEVICE, is_guest: false }),
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/joined_rooms$`),
    answer: ({ rooms }) => ({
      joined_rooms: [...rooms.rooms.values()]
        .filter((room) => rooms.membership(room, rooms.bot.id) === 'join')
        .map(({ id }) => id),
    }),
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/rooms/([^/]+)/send/m\\.room\\.message/([^/]+)$`),
    limit: 'send',
    answer(call) {
      const [roomId = '', transaction = ''] = call.parts;
      const room = roomOf(call.rooms, roomId);
      if (room.closed === true) throw new Refusal(403, 'M_FORBIDDEN');
      const content = checkContent(call.body);
      return once(call, `${roomId} send ${transaction}`, () =>
        call.rooms.add(room, { type: 'm.room.message', sender: call.rooms.bot.id, content }),
      );
    },
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/rooms/([^/]+)/send/m\\.reaction/([^/]+)$`),
    limit: 'send',
    answer(call) {
      const [roomId = '', transaction = ''] = call.parts;
      const room = roomOf(call.rooms, roomId);
      if (room.closed === true) throw new Refusal(403, 'M_FORBIDDEN');
      const content = Reaction.parse(call.body);
      return once(call, `${roomId} send ${transaction}`, () => {
        const { key, event_id: about } = content['m.relates_to'];
        if (call.rooms.reactionsOf(room, about, call.rooms.bot.id).includes(key))
          throw new Refusal(400, 'M_DUPLICATE_ANNOTATION');
        return call.rooms.add(room, { type: 'm.reaction', sender: call.rooms.bot.id, content });
      });
    },
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/rooms/([^/]+)/send/m\\.room\\.encrypted/([^/]+)$`),
    limit: 'send',
    answer(call) {
      const [roomId = '', transaction = ''] = call.parts;
      const room = roomOf(call.rooms, roomId);
      if (room.closed === true) throw new Refusal(403, 'M_FORBIDDEN');
      const content = Encrypted.parse(call.body);
      return once(call, `${roomId} send ${transaction}`, () =>
        call.rooms.add(room, { type: 'm.room.encrypted', sender: call.rooms.bot.id, content }),
      );
    },
  },
  {
    method: 'POST',
    path: new RegExp(`${V3}/keys/upload$`),
    answer: ({ rooms, keys, body }) => keys.upload(rooms.bot.id, DEVICE, body),
  },
  { method: 'POST', path: new RegExp(`${V3}/keys/query$`), answer: ({ keys, body }) => keys.query(body) },
  { method: 'POST', path: new RegExp(`${V3}/keys/claim$`), answer: ({ keys, body }) => keys.claim(body) },
  {
    method: 'POST',
    path: new RegExp(`${V3}/keys/signatures/upload$`),
    answer: ({ keys, body }) => keys.addSignatures(body),
  },
  {
    method: 'POST',
    path: new RegExp(`${V3}/keys/device_signing/upload$`),
    answer: ({ rooms, keys, body }) => keys.setSigning(rooms.bot.id, body),
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/user/([^/]+)/account_data/([^/]+)$`),
    answer({ rooms, keys, parts: [userId, type = ''] }) {
      if (userId !== rooms.bot.id) throw new Refusal(403, 'M_FORBIDDEN');
      const content = keys.accountData.get(type);
      if (content === undefined) throw new Refusal(404, 'M_NOT_FOUND');
      return content;
    },
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/sendToDevice/([^/]+)/([^/]+)$`),
    answer(call) {
      const [type = '', transaction = ''] = call.parts;
      const key = `to-device ${type} ${transaction}`;
      if (!call.transactions.has(key)) call.keys.sendToDevice(call.rooms.bot.id, type, call.body);
      call.transactions.set(key, '');
      return {};
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/members$`),
    answer({ rooms, parts: [roomId = ''], query }) {
      const room = roomOf(rooms, roomId);
      const isWanted = ({ type, content }: FakeEvent): boolean =>
        type === 'm.room.member' && content['membership'] !== query.get('not_membership');
      return { chunk: [...room.state.values()].filter(isWanted).map((event) => rooms.shown(room, event)) };
    },
  },
  {
    method: 'GET',
    path: /^\/_matrix\/client\/v1\/rooms\/([^/]+)\/relations\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/,
    answer({ rooms, parts: [roomId = '', about, kind, type], query }) {
      const room = roomOf(rooms, roomId);
      const all = room.events.filter((event) => {
        const relation = relationOf(event.content);
        const isOfType = type === undefined || event.type === type;
        return isOfType && relation['rel_type'] === kind && relation['event_id'] === about;
      });
      const newest = all.toReversed().slice(0, Number(query.get('limit') ?? 5));
      return { chunk: newest.map((event) => rooms.shown(room, event)) };
    },
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/rooms/([^/]+)/redact/([^/]+)/([^/]+)$`),
    limit: 'send',
    answer(call) {
      const [roomId = '', eventId = '', transaction = ''] = call.parts;
      const room = roomOf(call.rooms, roomId);
      return once(call, `${roomId} redact ${transaction}`, () =>
        call.rooms.redact(room, eventId, call.rooms.bot.id),
      );
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/event/([^/]+)$`),
    answer({ rooms, parts: [roomId = '', eventId] }) {
      const room = roomOf(rooms, roomId);
      const event = room.events.find(({ event_id }) => event_id === eventId);
      if (event === undefined) throw new Refusal(404, 'M_NOT_FOUND');
      return rooms.shown(room, event);
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/joined_members$`),
    answer({ rooms, parts: [roomId = ''] }) {
      const all = rooms.joined(roomOf(rooms, roomId));
      return {
        joined: Object.fromEntries(
          all.map(({ state_key = '', content }) => [state_key, { display_name: content['displayname'] }]),
        ),
      };
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/state/([^/]+)/([^/]*)$`),
    answer({ rooms, parts: [roomId = '', type = '', key = ''] }) {
      const event = roomOf(rooms, roomId).state.get(`${type} ${key}`);
      if (event === undefined) throw new Refusal(404, 'M_NOT_FOUND');
      return event.content;
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/state$`),
    answer({ rooms, parts: [roomId = ''] }) {
      const room = roomOf(rooms, roomId);
      return [...room.state.values()].map((event) => rooms.shown(room, event));
    },
  },
  {
    method: 'GET',
    path: new RegExp(`${V3}/rooms/([^/]+)/messages$`),
    answer({ rooms, parts: [roomId = ''], query }) {
      const room = roomOf(rooms, roomId);
      const [from, to] = [tokenOf(query.get('from')), tokenOf(query.get('to'))];
      const { types } = z
        .object({ types: z.array(z.string()).optional() })
        .parse(JSON.parse(query.get('filter') ?? '{}'));
      if (query.get('dir') !== 'b') throw new Refusal(400, 'M_MISSING_PARAM');
      const all = room.events
        .filter(({ at, type }) => at <= from && at > to && (types?.includes(type) ?? true))
        .toReversed();
      const limit = Number(query.get('limit') ?? 10);
      const chunk = all.slice(0, limit);
      const last = chunk.at(-1);
      const isEnd = all.length <= limit || last === undefined;
      return {
        chunk: chunk.map((event) => rooms.shown(room, event)),
        start: `s${from}`,
        ...(!isEnd && { end: `s${last.at - 1}` }),
      };
    },
  },
  {
    method: 'PUT',
    path: new RegExp(`${V3}/rooms/([^/]+)/typing/([^/]+)$`),
    answer({ rooms, parts: [roomId = '', userId], body, typing }) {
      roomOf(rooms, roomId);
      if (userId !== rooms.bot.id) throw new Refusal(403, 'M_FORBIDDEN');
      z.strictObject({ typing: z.literal(true), timeout: z.int().positive() }).parse(body);
      typing(roomId);
      return {};
    },
  },
  {
    method: 'POST',
    path: new RegExp(`${V3}/rooms/([^/]+)/receipt/m\\.read/([^/]+)$`),
    answer({ rooms, parts: [roomId = '', eventId = ''], body }) {
      const room = roomOf(rooms, roomId);
      const { thread_id: thread } = z.strictObject({ thread_id: z.string() }).parse(body);
      const event = room.events.find(({ event_id }) => event_id === eventId);
      if (event === undefined) throw new Refusal(404, 'M_NOT_FOUND');
      const root =
        relationOf(event.content)['rel_type'] === 'm.thread' ? relationOf(event.content)['event_id'] : 'main';
      if (thread !== root) throw new Refusal(400, 'M_INVALID_PARAM');
      rooms.read.push(eventId);
      return {};
    },
  },
  {
    method: 'POST',
    path: new RegExp(`${V3}/rooms/([^/]+)/(join|leave)$`),
    limit: 'join',
    answer({ rooms, parts: [roomId = '', act], body }) {
      const room = rooms.rooms.get(roomId);
      if (room === undefined) throw new Refusal(404, 'M_NOT_FOUND');
      const now = rooms.membership(room, rooms.bot.id);
      if (act === 'join' && now !== 'invite' && now !== 'join') throw new Refusal(403, 'M_FORBIDDEN');
      if (act === 'join' && now === 'join') return { room_id: roomId };
      const { reason } = z.object({ reason: z.string().optional() }).parse(body);
      rooms.member(
        room,
        rooms.bot,
        act === 'join' ? 'join' : 'leave',
        rooms.bot,
        reason === undefined ? {} : { reason },
      );
      return act === 'join' ? { room_id: roomId } : {};
    },
  },
  {
    method: 'POST',
    path: new RegExp(`${V3}/join/([^/]+)$`),
    limit: 'join',
    answer({ rooms, parts: [roomId = ''], query }) {
      const room = rooms.rooms.get(roomId);
      if (room === undefined || query.get('via') !== SERVER) throw new Refusal(404, 'M_NOT_FOUND');
      const now = rooms.membership(room, rooms.bot.id);
      const isPublic = room.state.get('m.room.join_rules ')?.content['join_rule'] === 'public';
      if (now !== 'join' && now !== 'invite' && !isPublic) throw new Refusal(403, 'M_FORBIDDEN');
      if (now !== 'join') rooms.member(room, rooms.bot, 'join');
      return { room_id: roomId };
    },
  },
  {
    method: 'POST',
    path: /^\/_matrix\/media\/v3\/upload$/,
    answer({ rooms, query, bytes, contentType }) {
      const id = `media${rooms.media.size + 1}`;
      rooms.media.set(id, { bytes, mimeType: contentType, name: query.get('filename') ?? '' });
      return { content_uri: `mxc://fake.test/${id}` };
    },
  },
];

/** The room, if the bot is in it. */
function roomOf(rooms: Rooms, roomId: string): FakeRoom {
  const room = rooms.rooms.get(roomId);
  if (room === undefined || rooms.membership(room, rooms.bot.id) !== 'join')
    throw new Refusal(403, 'M_FORBIDDEN');
  return room;
}

/** The same transaction returns the same event ("Transaction identifiers"). */
function once({ transactions }: ApiCall, key: string, make: () => FakeEvent): object {
  const event_id = transactions.get(key) ?? make().event_id;
  transactions.set(key, event_id);
  return { event_id };
}

export function tokenOf(token: string | null): number {
  const [, at] = /^s(\d+)$/.exec(token ?? '') ?? [];
  if (at === undefined) throw new Refusal(400, 'M_INVALID_PARAM');
  return Number(at);
}

/** What the homeserver accepts as the content of an event of the bot. Throws `Refusal`, or what else is wrong. */
export function checkEvent(content: object): void {
  checkSize(checkContent(content));
}

/** Messages are well formed, and their HTML is what clients show. */
function checkContent(body: unknown): Record<string, unknown> {
  const content = z.record(z.string(), z.unknown()).parse(body);
  const { formatted_body: html, format } = Shown.parse(content);
  if ((html === undefined) !== (format === undefined)) throw new Refusal(400, 'M_BAD_JSON');
  if (html !== undefined) readHtml(html);
  if (content['m.new_content'] !== undefined) {
    checkContent(content['m.new_content']);
    if (Object(content['m.new_content'])['m.relates_to'] !== undefined) throw new Refusal(400, 'M_BAD_JSON');
  }
  return content;
}
