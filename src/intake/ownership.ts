/** Ownership of sessions: knowing a session's key gives no right to it. */
import { hasScope } from '../contracts/access.ts';
import type { Caller } from '../contracts/access.ts';
import type { SessionRecord } from '../contracts/store/records.ts';

export function isAdmin(caller: Caller): boolean {
  return hasScope(caller, 'admin');
}

/** Admins see and use every session, other tokens only those they created. */
export function maySee(caller: Caller, record: SessionRecord): boolean {
  return isAdmin(caller) || (record.ownerTokenId !== undefined && record.ownerTokenId === caller.tokenId);
}
