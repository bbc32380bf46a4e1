/** Ownership of sessions: knowing a session's key gives no right to it. */
import type { Caller } from '../contracts/access.ts';
import type { SessionRecord } from '../contracts/records.ts';

export function isAdmin(caller: Caller): boolean {
  return caller.scopes.includes('admin');
}

/** Admins see and use every session, other tokens only those they created. */
export function maySee(caller: Caller, record: SessionRecord): boolean {
  return isAdmin(caller) || (record.ownerTokenId !== undefined && record.ownerTokenId === caller.tokenId);
}
