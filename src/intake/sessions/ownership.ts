/** Ownership of sessions: knowing a session's key grants no access to it. */
import { type Caller, hasScope } from '../../protocol/access.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';

export function isAdmin(caller: Caller): boolean {
  return hasScope(caller, 'admin');
}

/** Admins see and use every session, other tokens only those they created. */
export function maySee(caller: Caller, record: SessionRecord): boolean {
  return isAdmin(caller) || (record.ownerTokenId !== undefined && record.ownerTokenId === caller.tokenId);
}

/** Gives the session if the caller may see it. Throws `StoreError`. */
export type Visible = (caller: Caller, key: SessionKey) => Promise<SessionRecord | undefined>;

/** How to find and create a caller's sessions. */
export interface OwnedSessions {
  visible: Visible;
  /** Creates the session for the caller, unless there is one. */
  make: (caller: Caller, key: SessionKey) => Promise<unknown>;
}

/** Finds and makes the sessions of callers. */
export function ownedSessions(ledger: Pick<SessionStore, 'session' | 'updateSession'>): OwnedSessions {
  return {
    async visible(caller, key) {
      const record = await ledger.session(key);
      return record !== undefined && maySee(caller, record) ? record : undefined;
    },
    make: ({ tokenId }, key) => ledger.updateSession(key, {}, { ownerTokenId: tokenId }),
  };
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

/** The token whose sessions the caller sees; undefined = an admin, who sees all. */
export function ownerOf(caller: Caller): string | undefined {
  return isAdmin(caller) ? undefined : caller.tokenId;
}
