/** Sessions for callers of the API: listed, found, changed, stopped, deleted, and their messages. */
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import { checkChoice, type ChoiceDeps } from '../choice.ts';
import { stopSession } from '../sessions/stop-session.ts';
import { refuseWhilePlanRuns } from '../plans/modes.ts';
import { deleteSession } from '../sessions/delete-session.ts';
import { checkedChange } from '../sessions/session-change.ts';
import { workOf } from '../sessions/turn-work.ts';
import type { GatewayApiDeps } from './deps.ts';
import { ownerOf, type Visible } from '../sessions/ownership.ts';

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
