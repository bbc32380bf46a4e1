/** Ownership of sessions: knowing a session's key grants no access to it. */
import { hasScope } from '../../contracts/access.ts';
import type { Caller } from '../../contracts/access.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';

export function isAdmin(caller: Caller): boolean {
  return hasScope(caller, 'admin');
}

/** Admins see and use every session, other tokens only those they created. */
export function maySee(caller: Caller, record: SessionRecord): boolean {
  return isAdmin(caller) || (record.ownerTokenId !== undefined && record.ownerTokenId === caller.tokenId);
}

/** How to find and create a caller's sessions. */
export interface OwnedSessions {
  /** The session if the caller may see it. */
  visible: (caller: Caller, key: SessionKey) => Promise<SessionRecord | undefined>;
  /** Creates the session for the caller, unless there is one. */
  make: (caller: Caller, key: SessionKey) => Promise<unknown>;
}

/** The session, created if needed; undefined when it belongs to someone else. */
export async function ownSession(
  { visible, make }: OwnedSessions,
  caller: Caller,
  key: SessionKey,
): Promise<SessionRecord | undefined> {
  const known = await visible(caller, key);
  if (known !== undefined) return known;
  await make(caller, key);
  return await visible(caller, key);
}
