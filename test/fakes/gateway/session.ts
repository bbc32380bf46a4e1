/** A session of the fake gateway. */
import type { Caller } from '../../../src/contracts/access.ts';
import type { Receipt } from '../../../src/contracts/receive.ts';
import type { MessageRecord, SessionRecord } from '../../../src/contracts/records.ts';
import type { FakeTurn } from './turn.ts';

export interface FakeSession {
  record: SessionRecord;
  messages: MessageRecord[];
  queue: FakeTurn[];
}

export function mayRead(record: SessionRecord, caller: Caller): boolean {
  return caller.scopes.includes('admin') || record.ownerTokenId === caller.tokenId;
}

export function seqOf(session: FakeSession, turnId: string): number {
  return session.messages.find((row) => row.turnId === turnId)?.seq ?? 0;
}

export function refused(code: Extract<Receipt, { kind: 'refused' }>['code'], reply: string): Receipt {
  return { kind: 'refused', code, reply };
}
