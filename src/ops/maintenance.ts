/** What operators see and change of a running gateway besides access and settings: memories, dead letters and the log. */
import {
  type Administration,
  type AdministrationStore,
  MAX_ADMIN_ROWS,
} from '../protocol/operator/administration.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import { logFileOf } from './log-file.ts';
import { tailLog } from './log-text.ts';

/** Makes that part of the administration; `sweepSoon` lets a message that is queued again run at once. */
export function createMaintenance(
  store: { administration: AdministrationStore; lanes: LaneStore },
  sweepSoon: () => void,
  home: string,
): Pick<
  Administration,
  'memories' | 'removeMemory' | 'deadLetters' | 'retryDeadLetter' | 'dropDeadLetter' | 'log'
> {
  const { administration, lanes } = store;
  return {
    memories: (page) => administration.allMemories({ ...page, limit: Math.min(page.limit, MAX_ADMIN_ROWS) }),
    removeMemory: (id) => administration.removeMemory(id),
    async deadLetters() {
      const letters = await lanes.deadLetters(MAX_ADMIN_ROWS + 1);
      return { letters: letters.slice(0, MAX_ADMIN_ROWS), more: letters.length > MAX_ADMIN_ROWS };
    },
    async retryDeadLetter(lane, seq) {
      const queued = await lanes.replayDeadLetter(lane, seq);
      if (queued) sweepSoon();
      return queued;
    },
    dropDeadLetter: (lane, seq) => administration.dropDeadLetter(lane, seq),
    log: (request) => tailLog(logFileOf(home), request),
  };
}
