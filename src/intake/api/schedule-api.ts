/** Schedules for HTTP callers: a token sees those of its own sessions, an admin all. */
import type { Caller } from '../../contracts/access.ts';
import type { ScheduleApi, Schedules } from '../../contracts/schedules.ts';
import { isAdmin, type Visible } from '../sessions/ownership.ts';

/** Makes the API; `visible` returns a session the caller may see. */
export function createScheduleApi(schedules: Schedules, visible: Visible): ScheduleApi {
  const isTheirs = async (caller: Caller, id: string): Promise<boolean> => {
    const found = await schedules.find(id);
    return found !== undefined && (isAdmin(caller) || found.creatorId === creatorOf(caller));
  };
  return {
    list: async (caller, session) =>
      await schedules.list({ session, creatorId: isAdmin(caller) ? undefined : creatorOf(caller) }),
    async add(caller, { id, session, task, when }) {
      if ((await visible(caller, session)) === undefined) return undefined;
      return await schedules.add({
        id,
        session,
        address: session,
        creatorId: creatorOf(caller),
        task,
        when,
      });
    },
    change: async (caller, id, change) =>
      (await isTheirs(caller, id)) ? await schedules.change(id, change) : undefined,
    runNow: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.runNow(id)),
    runs: async (caller, id, say) =>
      (await isTheirs(caller, id)) ? await schedules.runs(id, say) : undefined,
    remove: async (caller, id) => (await isTheirs(caller, id)) && (await schedules.remove(id)),
  };
}

function creatorOf(caller: Caller): string {
  return `token:${caller.tokenId}`;
}
