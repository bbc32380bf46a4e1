/** Sessions for callers of the API: listed, found, changed, stopped, deleted, and their messages. */
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import { checkChoice, type ChoiceDeps } from '../choice.ts';
import { stopSession } from '../sessions/stop-session.ts';
import { refuseWhilePlanRuns } from '../plans/modes.ts';
import type { EventBus } from '../../protocol/bus.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';
import type { SubagentStore } from '../../protocol/agent/subagents.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { checkedChange } from '../sessions/session-change.ts';
import { workOf } from '../sessions/turn-work.ts';
import type { GatewayApiDeps } from './deps.ts';
import { ownerOf, type Visible } from '../sessions/ownership.ts';

/** Longest time that a deletion waits for the session's work to end, and the pause between two checks. */
const MAX_END_MS = 3_000;

const END_CHECK_MS = 20;

type DeleteSessionDeps = Parameters<typeof stopSession>[0] & {
  ledger: Ledger;
  subagents: Pick<SubagentStore, 'working'>;
  events: EventBus;
  files: Pick<SessionFiles, 'remove'>;
};

/** Most rows in a page of messages or sessions; a higher limit is reduced to this. */
const MAX_PAGE = 200;

type SessionApi = Pick<
  GatewayApi,
  | 'sessions'
  | 'searchSessions'
  | 'session'
  | 'sessionCount'
  | 'updateSession'
  | 'deleteSession'
  | 'stop'
  | 'messages'
  | 'messagesWithWork'
>;

/** Makes the sessions; a caller sees its own, an admin all. Methods throw only `GatewayError`. */
export function createSessionApi(deps: GatewayApiDeps, visible: Visible, choice: ChoiceDeps): SessionApi {
  return {
    async stop(caller, key) {
      return (await visible(caller, key)) === undefined ? undefined : await stopSession(deps, key, false);
    },
    async sessions(caller, { limit, before, archived = false }) {
      const page = { limit: Math.min(limit, MAX_PAGE), before, archived };
      return await deps.ledger.listSessions({ ...page, ownerTokenId: ownerOf(caller) });
    },
    async searchSessions(caller, text, limit) {
      const ownerTokenId = ownerOf(caller);
      return await deps.ledger.searchSessions({ text, limit: Math.min(limit, MAX_PAGE), ownerTokenId });
    },
    session: visible,
    sessionCount: ({ tokenId }, limit) => deps.ledger.sessionCount(tokenId, limit),
    async updateSession(caller, key, change) {
      const before = await visible(caller, key);
      if (before === undefined) return undefined;
      await checkChoice(choice, caller, before, change);
      const checked = await checkedChange(change, deps);
      if (checked.mode !== undefined) await refuseWhilePlanRuns(deps, key);
      const changed = await deps.ledger.updateSession(key, checked);
      const { mode, title } = checked;
      if (mode !== undefined) deps.events.emit(key, { type: 'mode_changed', mode });
      if (title !== undefined) deps.events.emit(key, { type: 'session_titled', title });
      return changed;
    },
    async deleteSession(caller, key) {
      const record = await visible(caller, key);
      return record !== undefined && (await deleteSession(deps, record));
    },
    async messages(caller, key, { limit, before }) {
      if ((await visible(caller, key)) === undefined) return undefined;
      return await deps.ledger.messages(key, { limit: Math.min(limit, MAX_PAGE), before });
    },
    async messagesWithWork(caller, key, page, say) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const messages = await deps.ledger.messages(key, { ...page, limit: Math.min(page.limit, MAX_PAGE) });
      const work = await workOf(deps.journals, key, [...new Set(messages.map(({ turnId }) => turnId))], say);
      return { messages, work };
    },
  };
}

/**
 * Stops the session, then deletes it with everything that belongs to it; false when it is already gone. Throws
 * `StoreError`.
 */
async function deleteSession(deps: DeleteSessionDeps, { key, folder }: SessionRecord): Promise<boolean> {
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
