/** What people do with a conversation besides talking in it. */
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { Fork } from './fork.ts';

/** For sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface ConversationApi {
  /**
   * Makes a session that begins as this one was at a message (`ForkStore.fork`), with copies of all its files as they are
   * now. It belongs to whom the session belongs, or to the caller for a session of a chat. `id` names it, behind `http:`.
   * Throws `GatewayError`: `bad_title`, `message_not_found`, `storage_full`.
   */
  fork(
    caller: Caller,
    key: SessionKey,
    asked: { id: string; seq: number; title?: string | undefined },
  ): Promise<Fork | undefined>;
}
