/** Schedules for channels and tools under test: kept in memory, never run. */
import { GatewayError } from '../../../src/protocol/errors.ts';
import type { ScheduleApi, ScheduleRecord, Schedules } from '../../../src/protocol/schedules.ts';

/** Accepts none. */
export const noSchedules: Schedules = {
  add: () => Promise.reject(new GatewayError('bad_schedule', 'None is taken here.')),
  list: () => Promise.resolve([]),
  find: () => Promise.resolve(undefined),
  change: () => Promise.resolve(undefined),
  runNow: () => Promise.resolve(false),
  runs: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(false),
  describe: () => '',
  moment: () => '',
};

/** Everyone sees everything; a task "refuse" is refused, and the session "http:elsewhere" is unknown. */
export function fakeScheduleApi(): ScheduleApi {
  const kept = new Map<string, ScheduleRecord>();
  return {
    list: (_caller, session) =>
      Promise.resolve([...kept.values()].filter((row) => session === undefined || row.session === session)),
    add: (caller, { id, session, task }) => {
      if (task === 'refuse') return Promise.reject(new GatewayError('bad_schedule', 'Say when.'));
      if (session === 'http:elsewhere') return Promise.resolve(undefined);
      const made: ScheduleRecord = kept.get(id) ?? {
        id,
        session,
        address: session,
        place: 'private',
        creatorId: `token:${caller.tokenId}`,
        timing: { kind: 'every', everyMs: 60_000 },
        task,
        sources: [],
        nextAt: new Date(60_000),
        createdAt: new Date(0),
      };
      kept.set(id, made);
      return Promise.resolve(made);
    },
    change: (_caller, id, { task, paused }) => {
      const found = kept.get(id);
      if (found === undefined) return Promise.resolve(undefined);
      const nextAt = paused === true ? undefined : (found.nextAt ?? new Date(60_000));
      const changed = { ...found, task: task ?? found.task, nextAt };
      kept.set(id, changed);
      return Promise.resolve(changed);
    },
    runNow: (_caller, id) => Promise.resolve(kept.has(id)),
    runs: (_caller, id) => Promise.resolve(kept.has(id) ? [] : undefined),
    remove: (_caller, id) => Promise.resolve(kept.delete(id)),
  };
}
