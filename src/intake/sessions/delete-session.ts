/** Deletes a session whose work may still be running. */
import type { EventBus } from '../../contracts/bus.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import type { SubagentStore } from '../../contracts/agent/subagents.ts';
import type { SessionFiles } from '../../contracts/tools/tool.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { stopSession } from './stop-session.ts';

/** Longest time that a deletion waits for the session's work to end, and the pause between two checks. */
const MAX_END_MS = 3_000;
const END_CHECK_MS = 20;

export type DeleteSessionDeps = Parameters<typeof stopSession>[0] & {
  ledger: Ledger;
  subagents: Pick<SubagentStore, 'working'>;
  events: EventBus;
  files: Pick<SessionFiles, 'remove'>;
};

/**
 * Stops the session, then deletes it with everything that belongs to it; false when it is already gone. Throws
 * `StoreError`.
 */
export async function deleteSession(
  deps: DeleteSessionDeps,
  { key, folder }: SessionRecord,
): Promise<boolean> {
  await stopSession(deps, key, true);
  await untilIdle(deps, key);
  const gone = await deps.ledger.deleteSession(key);
  if (gone) deps.events.emit(key, { type: 'session_deleted' });
  // What cannot be removed now is removed by the next sweep: the store has recorded the folder.
  if (gone) await deps.files.remove(folder);
  return gone;
}

/**
 * Waits until a stopped session's turn and subagents have ended: if rows were deleted under them, their model calls
 * would run to the end. A dead node cannot end them, so the wait is bounded.
 */
async function untilIdle(
  deps: Pick<DeleteSessionDeps, 'ledger' | 'subagents'>,
  key: SessionKey,
): Promise<void> {
  const until = performance.now() + MAX_END_MS;
  while (performance.now() < until) {
    const [queue, agents] = await Promise.all([deps.ledger.queue(key), deps.subagents.working(key)]);
    if (!queue.busy && agents.length === 0) return;
    await sleep(END_CHECK_MS);
  }
}
