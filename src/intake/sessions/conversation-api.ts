/** What people do with a conversation besides talking in it, behind the same owner check as the sessions. */
import type { Caller } from '../../contracts/access.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ConversationApi } from '../../contracts/sessions/conversation-api.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import { forkSession } from './fork-session.ts';
import type { ForkDeps } from './fork-session.ts';

export type ConversationDeps = ForkDeps;

/** Makes the API. `visible` gives a session that the caller may see. */
export function createConversationApi(
  deps: ConversationDeps,
  visible: (caller: Caller, key: SessionKey) => Promise<SessionRecord | undefined>,
): ConversationApi {
  return {
    async fork(caller, key, asked) {
      const source = await visible(caller, key);
      return source && (await forkSession(deps, caller, source, asked));
    },
  };
}
