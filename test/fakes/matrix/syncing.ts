/** `/sync` of the fake homeserver: held open until something is new, and reduced to what the filter accepts. */
import { z } from 'zod';
import { tokenOf } from './routes.ts';
import type { KeyServer } from './key-server.ts';
import { DEVICE, type FakeEvent, type FakeRoom, type Rooms } from './rooms.ts';

const Filter = z.object({
  room: z.object({
    state: z.object({ types: z.array(z.string()) }),
    timeline: z.object({ types: z.array(z.string()), limit: z.int().positive() }),
  }),
});
type Taken = z.infer<typeof Filter>['room'];

/** What the bot may see. Throws a refusal for an invalid token. */
export function syncAnswer(
  rooms: Rooms,
  keys: KeyServer,
  query: URLSearchParams,
): { answer: object; isNew: boolean } {
  const { room: taken } = Filter.parse(JSON.parse(query.get('filter') ?? '{}'));
  const since = query.get('since') === null ? undefined : tokenOf(query.get('since'));
  const join: Record<string, object> = {};
  const invite: Record<string, object> = {};
  const leave: Record<string, object> = {};
  for (const room of rooms.rooms.values()) {
    const own = room.state.get(`m.room.member ${rooms.bot.id}`);
    if (own === undefined || (since !== undefined && (room.events.at(-1)?.at ?? 0) <= since)) continue;
    const isFresh = since === undefined || own.at > since;
    switch (own.content['membership']) {
      case 'join':
        join[room.id] = joinedRoom(rooms, room, since, taken);
        break;
      case 'invite':
        if (isFresh)
          invite[room.id] = { invite_state: { events: [...shownToInvited(room), own].map(strippedOf) } };
        break;
      default:
        if (isFresh && since !== undefined)
          leave[room.id] = { timeline: { events: [rooms.shown(room, own)] } };
    }
  }
  const isNew = [join, invite, leave].some((found) => Object.keys(found).length > 0);
  const forDevice = keys.syncOf(rooms.bot.id, DEVICE, since ?? 0, rooms.position);
  const answer = { ...forDevice.answer, next_batch: `s${rooms.position}`, rooms: { join, invite, leave } };
  return { answer, isNew: isNew || forDevice.isNew };
}

function joinedRoom(
  rooms: Rooms,
  room: FakeRoom,
  since: number | undefined,
  { state, timeline }: Taken,
): object {
  const own = room.state.get(`m.room.member ${rooms.bot.id}`);
  // Users who join get what was said before, too.
  const isJoining = own !== undefined && since !== undefined && own.at > since;
  const after = isJoining ? 0 : (since ?? 0);
  const all = room.events.filter(({ at, type }) => at > after && timeline.types.includes(type));
  const events = all.slice(-timeline.limit);
  const [first] = events;
  const before = room.events.filter(({ at }) => at > after && at < (first?.at ?? Infinity));
  const changed = before.filter(
    ({ type, state_key: key }) => key !== undefined && state.types.includes(type),
  );
  return {
    state: { events: changed.map((event) => rooms.shown(room, event)) },
    timeline: {
      events: events.map((event) => rooms.shown(room, event)),
      limited: all.length > events.length,
      ...(first !== undefined && { prev_batch: `s${first.at - 1}` }),
    },
  };
}

function shownToInvited({ state }: FakeRoom): FakeEvent[] {
  return ['m.room.create ', 'm.room.encryption '].flatMap((key) => state.get(key) ?? []);
}

/** State that invited people see: without an id ("Stripped state"). */
function strippedOf({ type, sender, state_key: key, content }: FakeEvent): object {
  return { type, sender, state_key: key, content };
}
