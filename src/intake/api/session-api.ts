/** Sessions for callers of the API: listed, found, changed, stopped, deleted, and their messages. */
import type { IntakeContext } from '../context.ts';
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import { checkChoice, ownerOf, stopSession, type Visible } from '../sessions.ts';
import { refuseWhilePlanRuns } from '../plans/modes.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { checkedChange } from './new-session.ts';
import { workOf } from './turn-api.ts';

/** Longest time that a deletion waits for the session's work to end, and the pause between two checks. */
const MAX_END_MS = 3_000;

const END_CHECK_MS = 20;

/** Most rows in a page of messages or sessions; a higher limit is reduced to this. */
const MAX_PAGE = 200;

/** Makes the sessions; a caller sees its own, an admin all. Methods throw only `GatewayError`. */
export function createSessionApi(context: IntakeContext, files: SessionFiles, visible: Visible) {
  return {
    async stop(caller, key) {
      return (await visible(caller, key)) === undefined ? undefined : await stopSession(context, key, false);
    },
    async sessions(caller, { limit, before, archived = false }) {
      const page = { limit: Math.min(limit, MAX_PAGE), before, archived };
      return await context.ledger.listSessions({ ...page, ownerTokenId: ownerOf(caller) });
    },
    async searchSessions(caller, text, limit) {
      const ownerTokenId = ownerOf(caller);
      return await context.ledger.searchSessions({ text, limit: Math.min(limit, MAX_PAGE), ownerTokenId });
    },
    session: visible,
    sessionCount: ({ tokenId }, limit) => context.ledger.sessionCount(tokenId, limit),
    async updateSession(caller, key, change) {
      const session = await visible(caller, key);
      if (session === undefined) return undefined;
      await checkChoice(context, caller, session, change);
      const checked = await checkedChange(context, change);
      if (checked.mode !== undefined) await refuseWhilePlanRuns(context, key);
      const updated = await context.ledger.updateSession(key, checked);
      const { mode, title } = checked;
      if (mode !== undefined) context.events.emit(key, { type: 'mode_changed', mode });
      if (title !== undefined) context.events.emit(key, { type: 'session_titled', title });
      return updated;
    },
    async deleteSession(caller, key) {
      const record = await visible(caller, key);
      return record !== undefined && (await deleteSession(context, files, record));
    },
    async messages(caller, key, { limit, before }) {
      if ((await visible(caller, key)) === undefined) return undefined;
      return await context.ledger.messages(key, { limit: Math.min(limit, MAX_PAGE), before });
    },
    async messagesWithWork(caller, key, page, say) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const messages = await context.ledger.messages(key, { ...page, limit: Math.min(page.limit, MAX_PAGE) });
      const work = await workOf(
        context.store.journals,
        key,
        [...new Set(messages.map(({ turnId }) => turnId))],
        say,
      );
      return { messages, work };
    },
  } satisfies Partial<GatewayApi>;
}

/** Stops the session and deletes it with everything in it; false if it did not exist. Throws `StoreError`. */
async function deleteSession(
  context: IntakeContext,
  files: SessionFiles,
  { key, folder }: SessionRecord,
): Promise<boolean> {
  const agents = await context.store.subagents.working(key);
  await stopSession(context, key, true);
  await untilIdle(
    context,
    key,
    agents.map(({ agentId }) => agentId),
  );
  const isDeleted = await context.ledger.deleteSession(key);
  if (isDeleted) context.events.emit(key, { type: 'session_deleted' });
  // What cannot be removed now is removed by the next sweep: the store has recorded the folder.
  if (isDeleted) await files.remove(folder);
  return isDeleted;
}

/**
 * Waits until the turn and subagents of a stopped session have ended: without their rows, their model calls would run
 * on. A dead node cannot end them, so the wait is bounded.
 */
async function untilIdle(
  { ledger, store }: IntakeContext,
  key: SessionKey,
  agentIds: readonly string[],
): Promise<void> {
  const until = performance.now() + MAX_END_MS;
  while (performance.now() < until) {
    const [queue, atWork] = await Promise.all([ledger.queue(key), store.subagents.atWork(agentIds)]);
    if (!queue.busy && atWork === 0) return;
    await sleep(END_CHECK_MS);
  }
}
