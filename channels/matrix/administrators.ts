/** Who has the power of an administrator in a Matrix room ("m.room.power_levels"). Pure. */
import { z } from 'zod';
import type { RawEvent } from './events.ts';

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

/**
 * Whether a person may change the state of the room, and is at least a moderator: a room in which everyone may change
 * the state still has moderators. `state` is the full state of the room; a level that is no number counts as absent.
 */
export function isAdministrator(state: readonly RawEvent[], userId: string): boolean {
  const find = (type: string): RawEvent | undefined =>
    state.find((event) => event.type === type && event.state_key === '');
  const created = find('m.room.create');
  const levels = PowerLevels.safeParse(find('m.room.power_levels')?.content).data;
  if (created !== undefined && isPrivileged(created, userId)) return true;
  // Where no levels are named, the creator alone has power.
  if (levels === undefined) return created?.sender === userId;
  const own = levels.users?.[userId] ?? levels.users_default ?? 0;
  return own >= Math.max(MODERATOR, levels.state_default ?? MODERATOR);
}

function isPrivileged({ sender, content }: RawEvent, userId: string): boolean {
  const { room_version: version, additional_creators: others } = Create.parse(content);
  const isCreator = sender === userId || others.includes(userId);
  return isCreator && /^\d{1,4}$/.test(version) && Number(version) >= PRIVILEGED_CREATORS;
}
