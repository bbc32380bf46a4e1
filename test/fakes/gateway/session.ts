/** A session of the fake gateway. */
import type { Caller } from '../../../src/contracts/access.ts';
import type { GatewayApi } from '../../../src/contracts/gateway-api.ts';
import type { InboundMessage } from '../../../src/contracts/message.ts';
import type { Receipt } from '../../../src/contracts/receive.ts';
import type { MessageRecord, SessionRecord } from '../../../src/contracts/store/records.ts';
import type { FakeTurn } from './turn.ts';

export interface FakeSession {
  record: SessionRecord;
  messages: MessageRecord[];
  queue: FakeTurn[];
}

const MODES = ['planner', 'agentic', 'teacher'] as const;

/** The record after a change by its user. */
export function changed(
  record: SessionRecord,
  { model, profileId, mode, title }: Parameters<GatewayApi['updateSession']>[2],
): SessionRecord {
  record.model = model ?? undefined;
  record.profileId = profileId ?? record.profileId;
  record.mode = MODES.find((one) => one === mode) ?? record.mode;
  if (title !== undefined) record.title = title ?? undefined;
  return record;
}

export function mayRead(record: SessionRecord, caller: Caller): boolean {
  return caller.scopes.includes('admin') || record.ownerTokenId === caller.tokenId;
}

/** The receipt of a message that came before; undefined for a new one. */
export function repeatOf(
  message: InboundMessage,
  turns: readonly FakeTurn[],
  session: FakeSession,
): Receipt | undefined {
  const turn = turns.find((one) => one.message.id === message.id && one.message.chatId === message.chatId);
  if (turn === undefined) return undefined;
  const seq = session.messages.find((row) => row.turnId === turn.id)?.seq ?? 0;
  const differs = turn.message.content !== message.content;
  return { kind: 'duplicate', turnId: turn.id, seq, ...(differs && { differs }) };
}

export function refused(code: Extract<Receipt, { kind: 'refused' }>['code'], reply: string): Receipt {
  return { kind: 'refused', code, reply };
}
